import { Button, Drawer, Skeleton, Text, UnstyledButton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { CreditNote, CreditNoteExplanation, CreditNoteLine } from '../../../client/src/generated-entry.ts';
import { api, read } from '../api.ts';
import { ChangeDialog } from '../parts/change-dialog.tsx';
import { CustomerName, CustomerNames } from '../parts/customer-name.tsx';
import { Steps } from '../parts/explain.tsx';
import { countText, moneyText, words } from '../parts/format.ts';
import { isInTheWay, PageProblem } from '../parts/problem.tsx';
import { Rows } from '../parts/records.tsx';
import { SaveFile } from '../parts/save-file.tsx';
import { Facts, Go, Heading, Identifier, Money, Section, Status, Sums, When } from '../parts/shown.tsx';
import { useMay } from '../session.ts';

/** One credit note: its lines, each with the way to its amount. */
export function Page() {
  const { id = '' }: { id?: string } = useParams({ strict: false });
  const { data, error, refetch } = useQuery(read('creditNotes', 'get', { id }));
  const { data: explanation } = useQuery(read('creditNotes', 'explain', { id }));
  if (isInTheWay(error, data)) return <PageProblem error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={320} />;
  const { creditNote: note, creditNoteLines: lines } = data;
  const { creditNoteNumber, status, customerId, currency } = note;
  return (
    <CustomerNames ids={[customerId]}>
      <Heading
        title={`Credit note ${creditNoteNumber}`}
        below={
          <span className="beside">
            <Status of={status} />
            <CustomerName id={customerId} />
          </span>
        }
        aside={
          <>
            <VoidButton note={note} />
            <SaveFile
              name={`${creditNoteNumber}.pdf`}
              type="application/pdf"
              read={() => api.creditNotes.getPdf({ id })}
            >
              Save as PDF
            </SaveFile>
          </>
        }
      />
      <Section title="Lines">
        <Lines note={note} lines={lines} explanation={explanation} />
        <Sums
          currency={currency}
          sums={[
            ['Discount', note.discountAmount === 0 ? null : -note.discountAmount],
            ['Subtotal', note.subtotal],
            ['Tax', note.taxAmount],
          ]}
          total={note.total}
        />
      </Section>
      <Section title="Details">
        <Facts
          facts={[
            [
              'Invoice',
              <Go key="invoice" to={`/invoices/${note.invoiceId}`}>
                Open the invoice
              </Go>,
            ],
            ['Settled by', settledBy[note.settle]],
            [
              'Refund of',
              note.paymentId === null ? (
                '–'
              ) : (
                <Go key="payment" to={`/payments/${note.paymentId}`}>
                  Open the payment
                </Go>
              ),
            ],
            ['Reason', note.reason ?? '–'],
            ['Made', <When key="made" at={note.createdAt} />],
            ['Settled', <When key="settled" at={note.settledAt} />],
            ['Voided', <When key="voided" at={note.voidedAt} />],
            ['Id', <Identifier key="id" id={note.id} />],
          ]}
        />
      </Section>
    </CustomerNames>
  );
}

const settledBy: Readonly<Record<CreditNote['settle'], string>> = {
  refund: 'A refund',
  offset: 'Less to pay of the invoice',
  balance: "The customer's balance",
};

function VoidButton({ note }: { readonly note: CreditNote }) {
  const may = useMay('credit-notes:money');
  const [isOpen, setOpen] = useState(false);
  const { id, status, total, currency, settle } = note;
  if (!may || status === 'void' || settle === 'refund') return null;
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        Void
      </Button>
      <ChangeDialog
        title={`Void ${note.creditNoteNumber}`}
        opened={isOpen}
        onClose={() => setOpen(false)}
        input={{ id }}
        call={(input, options) => api.creditNotes.void(input, options)}
        effects={() => [
          { text: `The credit of ${moneyText(total, currency)} is taken back.`, isLoss: true },
          {
            text: settle === 'offset' ? 'The invoice is owed again by as much.' : 'The balance is lower by as much.',
          },
        ]}
        confirm="Void the credit note"
        done="The credit note is void"
        isDanger
      />
    </>
  );
}

interface LinesProps {
  readonly note: CreditNote;
  readonly lines: readonly CreditNoteLine[];
  readonly explanation: CreditNoteExplanation | undefined;
}

function Lines({ note: { currency }, lines, explanation }: LinesProps) {
  const [explained, setExplained] = useState<CreditNoteLine | null>(null);
  const found = explanation?.lines.find(({ id }) => id === explained?.id);
  return (
    <>
      <Rows
        rows={lines}
        caption="Lines of the credit note"
        keyOf={({ id }) => id}
        columns={[
          { title: 'Line', cell: ({ description }) => description ?? 'Line of the invoice' },
          {
            title: 'Quantity',
            cell: ({ quantity }) => (quantity === null ? '' : countText(quantity)),
            align: 'right',
            from: 'sm',
          },
          {
            title: 'Amount',
            cell: (line) => (
              <UnstyledButton className="explained" onClick={() => setExplained(line)}>
                <Money amount={line.amount} currency={currency} />
                <span className="visually-hidden">, explain {line.description ?? 'this line'}</span>
              </UnstyledButton>
            ),
            align: 'right',
          },
        ]}
      />
      <Drawer
        opened={explained !== null}
        onClose={() => setExplained(null)}
        title={<span className="dialog-title">Why this amount</span>}
      >
        {explained !== null && (
          <>
            <Text c="dimmed" size="sm">
              {explained.description ?? words('line_of_the_invoice')}
            </Text>
            <Text fz={28} fw={620} lh={1.3} mb="md">
              <Money amount={explained.amount} currency={currency} />
            </Text>
            {found !== undefined && <CreditSteps line={found} currency={currency} />}
          </>
        )}
      </Drawer>
    </>
  );
}

interface StepsProps {
  readonly line: CreditNoteExplanation['lines'][number];
  readonly currency: string;
}

/** The way from the line of the invoice to its credit, with its shares of discount and tax. */
function CreditSteps({ line, currency }: StepsProps) {
  const money = (amount: number) => moneyText(amount, currency);
  const share = ({ whole, numerator, denominator, creditedBefore, share: amount }: typeof line.tax) =>
    `${numerator} / ${denominator} of ${money(whole)}` +
    `${creditedBefore === 0 ? '' : `, less ${money(creditedBefore)} credited before`}: ${money(amount)}`;
  const steps = [
    ['Line of the invoice', money(line.lineAmount)],
    ['Credited before', money(line.creditedBefore)],
    ['Credited here', money(line.amount)],
    ['Its share of the discount', share(line.discount)],
    ['Its share of the tax', share(line.tax)],
    ['Together', money(line.amount - line.discount.share + line.tax.share)],
  ] as const;
  return <Steps steps={steps.map(([name, text]) => ({ name, text }))} />;
}
