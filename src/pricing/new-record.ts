/** A record that is to be made: without what the unit of work knows. A union stays a union. */
export type NewRecord<Made> = Made extends unknown
  ? Omit<Made, 'createdAt' | 'updatedAt' | 'livemode' | 'organizationId'>
  : never;
