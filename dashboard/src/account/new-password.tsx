import { PasswordInput } from '@mantine/core';

// As the service has them.
const shortest = 10;
const longest = 128;

/** The field of a password that somebody chooses. */
export function NewPassword({ name, label = 'New password' }: { readonly name: string; readonly label?: string }) {
  return (
    <PasswordInput
      name={name}
      label={label}
      description={`At least ${shortest} characters`}
      autoComplete="new-password"
      required
      minLength={shortest}
      maxLength={longest}
    />
  );
}
