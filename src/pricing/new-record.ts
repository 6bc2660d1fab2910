/** A record to insert, without the fields that the unit of work adds. A union stays a union. */
export type NewRecord<Made> = Made extends unknown
  ? Omit<Made, 'createdAt' | 'updatedAt' | 'livemode' | 'organizationId'>
  : never;
