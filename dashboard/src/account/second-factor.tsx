import { Button, Code, CopyButton, Group, Modal, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { encode } from 'uqr';
import { send } from '../api.ts';
import { Section } from '../parts/shown.tsx';
import { FormDialog } from './form-dialog.tsx';

interface Begun {
  /** The address that an authenticator reads, with the secret. */
  readonly totpURI: string;
  readonly backupCodes: readonly string[];
}

type Opened =
  | { readonly kind: 'turn-on' | 'turn-off' | 'new-codes' }
  | { readonly kind: 'verify'; readonly begun: Begun }
  | { readonly kind: 'codes'; readonly codes: readonly string[] }
  | null;

/** The second factor of the person: a code of an authenticator, which the sign-in asks for after the password. */
export function SecondFactor({ isOn }: { readonly isOn: boolean }) {
  const [opened, setOpened] = useState<Opened>(null);
  const close = () => setOpened(null);
  return (
    <Section
      title="Codes of an authenticator"
      aside={
        isOn ? (
          <>
            <Button variant="default" size="xs" onClick={() => setOpened({ kind: 'new-codes' })}>
              Make new backup codes
            </Button>
            <Button variant="default" size="xs" onClick={() => setOpened({ kind: 'turn-off' })}>
              Turn off
            </Button>
          </>
        ) : (
          <Button variant="default" size="xs" onClick={() => setOpened({ kind: 'turn-on' })}>
            Turn on
          </Button>
        )
      }
    >
      <Text size="sm" maw={520}>
        {isOn
          ? 'They are on. After your password, the sign-in asks for a code of your authenticator.'
          : 'They are off. With them, a stolen password is not enough: the sign-in asks for a code of an app on your telephone too.'}
      </Text>
      {opened?.kind === 'turn-on' && (
        <FormDialog
          title="Turn on codes"
          onClose={close}
          submit={({ password }) => send<Begun>('POST', '/auth/two-factor/enable', { password })}
          confirm="Go on"
          onDone={(begun) => setOpened({ kind: 'verify', begun })}
        >
          <Password />
        </FormDialog>
      )}
      {opened?.kind === 'verify' && (
        <FormDialog
          title="Turn on codes"
          onClose={close}
          submit={({ code = '' }) => send('POST', '/auth/two-factor/verify-totp', { code: code.replaceAll(' ', '') })}
          confirm="Turn them on"
          done="The codes are on."
          onDone={() => setOpened({ kind: 'codes', codes: opened.begun.backupCodes })}
        >
          <Scan uri={opened.begun.totpURI} />
        </FormDialog>
      )}
      {opened?.kind === 'new-codes' && (
        <FormDialog
          title="Make new backup codes"
          onClose={close}
          submit={({ password }) =>
            send<Pick<Begun, 'backupCodes'>>('POST', '/auth/two-factor/generate-backup-codes', { password })
          }
          confirm="Make them"
          onDone={({ backupCodes: codes }) => setOpened({ kind: 'codes', codes })}
          isDanger
        >
          <Text size="sm">The backup codes that you have now work no more.</Text>
          <Password />
        </FormDialog>
      )}
      {opened?.kind === 'turn-off' && (
        <FormDialog
          title="Turn off codes"
          onClose={close}
          submit={({ password }) => send('POST', '/auth/two-factor/disable', { password })}
          confirm="Turn them off"
          done="The codes are off."
          isDanger
        >
          <Text size="sm">Your password alone signs you in then. The backup codes work no more.</Text>
          <Password />
        </FormDialog>
      )}
      {opened?.kind === 'codes' && <BackupCodes codes={opened.codes} onClose={close} />}
    </Section>
  );
}

function Password() {
  return (
    <PasswordInput name="password" label="Your password" autoComplete="current-password" required data-autofocus />
  );
}

function Scan({ uri }: { readonly uri: string }) {
  const secret = new URL(uri).searchParams.get('secret') ?? '';
  return (
    <>
      <Text size="sm">Scan this with an authenticator app. It then shows six digits, new ones every half minute.</Text>
      <QrCode text={uri} />
      <Text size="sm" c="dimmed" component="div">
        Or type this secret into the app:{' '}
        <Code className="identifier wrapped">{secret.replace(/(.{4})(?=.)/g, '$1 ')}</Code>
      </Text>
      <TextInput
        name="code"
        label="The six digits"
        inputMode="numeric"
        autoComplete="one-time-code"
        pattern="[0-9 ]{6,7}"
        required
        data-autofocus
      />
    </>
  );
}

/** Dark on white in both colour schemes, because not every camera reads the inverse. */
function QrCode({ text }: { readonly text: string }) {
  const { data, size } = encode(text, { border: 4 });
  const modules = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
  return (
    <svg viewBox={`0 0 ${size} ${size}`} className="qr-code" role="img" aria-label="QR code for the authenticator">
      <rect width={size} height={size} fill="#fff" />
      <path d={modules.join('')} fill="#000" shapeRendering="crispEdges" />
    </svg>
  );
}

function BackupCodes({ codes, onClose }: { readonly codes: readonly string[]; readonly onClose: () => void }) {
  return (
    <Modal
      opened
      onClose={onClose}
      title={<span className="dialog-title">Your backup codes</span>}
      closeOnClickOutside={false}
    >
      <Stack>
        <Text size="sm">
          Each signs you in once when you do not have your authenticator. They are shown only now: keep them where you
          keep passwords, not on the same telephone.
        </Text>
        <Code block className="identifier">
          {codes.join('\n')}
        </Code>
        <Group justify="flex-end" gap="xs">
          <CopyButton value={codes.join('\n')}>
            {({ copied, copy }) => (
              <Button variant="default" onClick={copy}>
                {copied ? 'Copied' : 'Copy'}
              </Button>
            )}
          </CopyButton>
          <Button onClick={onClose}>I have stored them</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
