// Metadata holds keys of other systems, not documents.
const maxMetadataKeys = 50;
const metadataKey = 40;
const metadataValue = 500;

/**
 * The longest texts, in characters, by their use. Request schemas are made from it. The migrations have the same numbers in
 * `text_limits()`, for the constraints of the tables, and a test compares the two.
 */
export const textLimits = {
  /** Names, labels, slugs, references, ids of other systems. */
  name: 255,
  /** A name with an ending of the service: ` x 1000000`, or `_no_charge` in a slug. */
  longName: 265,
  /** 64 characters, an @, and a domain of 255. */
  email: 320,
  phone: 50,
  /** One line of an address; its city, state, postal code and country too. */
  addressLine: 200,
  /** Reasons and notes too: half a page. */
  description: 2000,
  /** The usual limit of browsers. */
  url: 2048,
  /** The properties of a usage event as JSON: enough to describe a use, too small for documents. */
  properties: 16_384,
  metadataKey,
  metadataValue,
  /** All of it as JSON: any values of letters fit. Control characters, six times as long there, do not. */
  metadata: 32_000,
  /** The same in the tables, where numbers are written in full. */
  storedMetadata: 48_000,
} as const;

/** A use of texts that has a limit. */
export type TextUse = keyof typeof textLimits;

/** The most keys of the metadata of a record. */
export const metadataKeys = maxMetadataKeys;

/** The most lines of the address of a seller. More do not fit beside the buyer on a printed invoice. */
export const maxAddressLines = 10;
