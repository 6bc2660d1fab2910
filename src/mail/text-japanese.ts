import type { EmailCatalogue } from './email.ts';

export const japanese: EmailCatalogue = {
  greeting: '{customer} 様',
  closing: 'ご不明な点がございましたら、このメールにご返信ください。',
  retry: '{date}に再度請求いたします。',
  noRetry: '自動での再請求は行いません。',
  again: '上限は{date}にリセットされます。',
  emails: {
    invoice_issued: {
      subject: '{seller} からの請求書 {number}',
      heading: '請求書 {number}',
      text: '請求書 {number}（金額：{amount}、お支払期限：{date}）をお送りします。PDF を添付しています。',
      action: '請求書を確認して支払う',
    },
    receipt: {
      subject: '{seller} からの領収のお知らせ',
      heading: 'お支払いありがとうございます',
      text: '{date}に請求書 {number} のお支払い {amount} を受領しました。',
      action: '請求書を確認する',
    },
    payment_failed: {
      subject: '{seller} へのお支払いが完了しませんでした',
      heading: 'お支払いが完了しませんでした',
      text: '{date}に請求書 {number} の {amount} を請求できませんでした。お支払い方法を更新するか、別の方法でお支払いください。{retry}',
      action: '請求書を支払う',
    },
    payment_action_required: {
      subject: '{seller} へのお支払いの確認をお願いします',
      heading: 'お支払いには銀行での確認が必要です',
      text: '請求書 {number} のお支払い {amount} について、ご利用の銀行が本人確認を求めています。お支払いページを開き、銀行での確認手続きを完了してください。完了するまで、請求書は未払いのままとなります。',
      action: 'お支払いを確認する',
    },
    payment_waiting: {
      subject: '{seller} へのお支払いの確認が必要です',
      heading: 'お支払いはまだ完了していません',
      text: '{date}に開始された {amount} のお支払いについて、ご利用の銀行が確認を求めています。お支払いページを開き、銀行で確認してください。確認されるまで請求は行われず、確認がない場合、お支払いは無効になります。',
      action: 'お支払いを確認する',
    },
    subscription_canceled: {
      subject: '{plan} のご契約が終了しました',
      heading: 'ご契約が終了しました',
      text: '{plan} のご契約は{date}に終了しました。',
      action: null,
    },
    credit_note_issued: {
      subject: '{seller} からのクレジットノート {number}',
      heading: 'クレジットノート {number}',
      text: '{date}に {amount} を減額しました。クレジットノート {number} を PDF で添付しています。',
      action: '請求書を確認する',
    },
    trial_ending: {
      subject: '{plan} の無料トライアルは{date}に終了します',
      heading: '無料トライアルがまもなく終了します',
      text: '{plan} の無料トライアルは{date}に終了します。終了後はご契約が継続され、料金が発生します。継続を希望されない場合は、その日までに解約してください。',
      action: null,
    },
    card_expiring: {
      subject: '{seller} にご登録のカードの有効期限が近づいています',
      heading: 'カードの有効期限が近づいています',
      text: 'ご登録のカード {card} の有効期限は{date}です。次回のお支払いのため、別のカードをご登録ください。',
      action: null,
    },
    spend_limit_reached: {
      subject: '{seller} のご利用上限に達しました',
      heading: 'ご利用上限に達しました',
      text: 'ご利用上限 {limit} をすべて使い切りました。{again}',
      action: 'アカウントを見る',
    },
    top_up_action_required: {
      subject: '{seller} にご登録のカードの確認をお願いします',
      heading: '銀行による確認が必要です',
      text: '銀行がお支払いの確認を求めているため、{date}に残高を自動で追加できませんでした。アカウントを開き、カードをもう一度ご登録ください。',
      action: 'アカウントを開く',
    },
  },
};
