-- The audit logs of an organization tell how its members protect their sign-in: codes of an authenticator, passkeys and a new
-- password. A session with a weaker protection than yesterday's is what somebody looks for after a theft. The library makes
-- these changes for the person who is signed in, and the command line makes them for the operator. No row shows a secret.
create function audit_sign_in() returns trigger
  language plpgsql volatile security definer set search_path from current as $$
declare
  microseconds bigint := extract(epoch from clock_timestamp()) * 1000000;
  subject text := to_jsonb(coalesce(new, old)) ->> tg_argv[0];
  is_operator boolean := current_setting('tollkeeper.actor_type', true) is not distinct from 'operator';
  passkeys bigint;
  was jsonb;
  becomes jsonb;
begin
  case table_of_trigger(tg_table_name)
    when 'people_users' then
      was := jsonb_build_object('two_factor_enabled', coalesce(old.two_factor_enabled, false));
      becomes := jsonb_build_object('two_factor_enabled', coalesce(new.two_factor_enabled, false));
    when 'people_accounts' then
      was := jsonb_build_object('password', '(secret)');
      becomes := was;
    when 'people_passkeys' then
      passkeys := (select count(*) from people_passkeys p where p.user_id = subject);
      was := jsonb_build_object('passkeys', passkeys + case tg_op when 'INSERT' then -1 else 1 end);
      becomes := jsonb_build_object('passkeys', passkeys);
  end case;
  insert into audit_log (environment_id, id, occurred_at, actor_type, user_id, action, request_id, record, record_id, operation,
                         before, after)
    select e.id, 'audit_' || lpad(to_hex(microseconds), 14, '0') || lpad(to_hex(pg_backend_pid()), 6, '0') || to_hex(1048576),
           microseconds / 1000, case when is_operator then 'operator' else 'user' end, case when not is_operator then subject end,
           case when is_operator then nullif(current_setting('tollkeeper.action', true), '') else tg_argv[1] end,
           nullif(current_setting('tollkeeper.request_id', true), ''), 'member', subject, 'update', was, becomes
      from people_memberships m join environments e on e.organization_id = m.organization_id
     where m.user_id = subject;
  return null;
end $$;
create trigger audit_sign_in after update of two_factor_enabled on people_users for each row
  when (coalesce(old.two_factor_enabled, false) <> coalesce(new.two_factor_enabled, false))
  execute function audit_sign_in('id', 'two-factor');
create trigger audit_sign_in after update of password on people_accounts for each row
  when (old.password is distinct from new.password) execute function audit_sign_in('user_id', 'password');
create trigger audit_sign_in after insert or delete on people_passkeys for each row
  execute function audit_sign_in('user_id', 'passkey');
