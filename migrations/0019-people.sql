-- People who sign in, and the organizations that they belong to. Outside of the tenants' tables: a person may belong to several
-- organizations. Users, sessions, accounts, passkeys and the rest are as the library better-auth writes them; members and
-- invitations are ours. The role of requests sees the people of its organization and no secret; the worker signs people in.
create schema people;

create table people.users (
  id text collate "C" primary key,
  name text not null,
  email text not null,
  email_verified boolean not null default false,
  image text,
  two_factor_enabled boolean default false,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint users_email_unique unique (email),
  constraint users_email_is_lower check (email = lower(email)),
  constraint users_texts check (char_length(name) <= 255 and char_length(email) <= 320 and char_length(image) <= 2048)
);

create table people.sessions (
  id text collate "C" primary key,
  token text collate "C" not null,
  user_id text collate "C" not null references people.users on delete cascade,
  expires_at timestamptz(3) not null,
  ip_address text,
  user_agent text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint sessions_token_unique unique (token)
);
create index sessions_by_user on people.sessions (user_id);

-- The ways in which a person signs in: a password (a hash that is slow to make), or an account with a provider.
create table people.accounts (
  id text collate "C" primary key,
  account_id text not null,
  provider_id text not null,
  user_id text collate "C" not null references people.users on delete cascade,
  access_token text,
  refresh_token text,
  id_token text,
  access_token_expires_at timestamptz(3),
  refresh_token_expires_at timestamptz(3),
  scope text,
  password text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint accounts_one_person unique (provider_id, account_id)
);
create index accounts_by_user on people.accounts (user_id);

-- Short-lived values, such as the state of a sign-in that is under way.
create table people.verifications (
  id text collate "C" primary key,
  identifier text not null,
  value text not null,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index verifications_by_identifier on people.verifications (identifier);

-- Encrypted by the library with a secret that the database does not have.
create table people.two_factors (
  id text collate "C" primary key,
  secret text not null,
  backup_codes text not null,
  user_id text collate "C" not null references people.users on delete cascade,
  verified boolean default true,
  failed_verification_count integer default 0,
  locked_until timestamptz(3)
);
create index two_factors_by_secret on people.two_factors (secret);
create index two_factors_by_user on people.two_factors (user_id);

create table people.passkeys (
  id text collate "C" primary key,
  name text,
  public_key text not null,
  user_id text collate "C" not null references people.users on delete cascade,
  credential_id text not null,
  counter bigint not null,
  device_type text not null,
  backed_up boolean not null,
  transports text,
  created_at timestamptz(3),
  aaguid text,
  constraint passkeys_credential_unique unique (credential_id)
);
create index passkeys_by_user on people.passkeys (user_id);

-- How often an address asked for a path, and how often somebody tried the password of a person. Every process counts here.
create table people.rate_limits (
  id text collate "C" primary key,
  key text not null,
  count integer not null,
  last_request bigint not null,
  constraint rate_limits_key_unique unique (key)
);
create index rate_limits_by_time on people.rate_limits (last_request);

create table people.memberships (
  organization_id text collate "C" not null references organizations,
  user_id text collate "C" not null references people.users on delete cascade,
  role text not null,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (organization_id, user_id),
  constraint memberships_role check (role in ('owner', 'billing', 'support', 'developer', 'viewer'))
);
create index memberships_by_user on people.memberships (user_id);

create table people.invitations (
  id text collate "C" primary key,
  organization_id text collate "C" not null references organizations,
  role text not null,
  -- Null in the link of the first start: its holder says who they are.
  email text,
  -- SHA-256 of the text in the link, which cannot be guessed.
  token_hash bytea not null,
  expires_at bigint not null,
  created_at bigint not null,
  -- Set once, by the person who used the link.
  accepted_at bigint,
  accepted_by text collate "C" references people.users on delete set null,
  constraint invitations_token_unique unique (token_hash),
  constraint invitations_role check (role in ('owner', 'billing', 'support', 'developer', 'viewer')),
  constraint invitations_email check (email = lower(email) and char_length(email) <= 320),
  constraint invitations_token_is_sha256 check (octet_length(token_hash) = 32)
);
create index invitations_by_organization on people.invitations (organization_id, id);
-- One link that works for each address.
create unique index invitations_one_open on people.invitations (organization_id, email) where accepted_at is null;

create function current_organization() returns text language sql stable
  return (select organization_id from environments where id = current_environment());

alter table people.users enable row level security;
alter table people.memberships enable row level security;
alter table people.invitations enable row level security;
create policy tenant on people.memberships to tollkeeper_service using (organization_id = (select current_organization()));
create policy tenant on people.invitations to tollkeeper_service using (organization_id = (select current_organization()));
create policy tenant on people.users for select to tollkeeper_service
  using (exists (select from people.memberships m where m.user_id = users.id));
create policy worker on people.users to tollkeeper_worker using (true);
create policy worker on people.memberships to tollkeeper_worker using (true);
create policy worker on people.invitations to tollkeeper_worker using (true);
grant usage on schema people to tollkeeper_service, tollkeeper_worker;
grant select, insert, update, delete on all tables in schema people to tollkeeper_worker;
grant select (id, name, email, two_factor_enabled, created_at) on people.users to tollkeeper_service;
grant select, delete, update (role, updated_at) on people.memberships to tollkeeper_service;
grant select, insert, delete on people.invitations to tollkeeper_service;

-- An organization that has an owner keeps one. The lock makes two owners who step down at the same time wait for each other.
create function people.keep_an_owner() returns trigger
  language plpgsql volatile security definer set search_path = public, pg_temp as $$
begin
  perform from organizations where id = old.organization_id for no key update;
  if not exists (select from people.memberships where organization_id = old.organization_id and role = 'owner') then
    raise check_violation using constraint = 'memberships_keep_an_owner', message = 'an organization keeps an owner';
  end if;
  return null;
end $$;
create trigger keep_an_owner after update of role or delete on people.memberships for each row
  when (old.role = 'owner') execute function people.keep_an_owner();

-- One answer has all members and open invitations of an organization. The lock makes counting and adding one step.
create function people.limit_members() returns trigger
  language plpgsql volatile security definer set search_path = public, pg_temp as $$
begin
  perform from organizations where id = new.organization_id for no key update;
  if (select count(*) from people.memberships where organization_id = new.organization_id)
    + (select count(*) from people.invitations where organization_id = new.organization_id and accepted_at is null) > 500
  then
    raise program_limit_exceeded using table = 'members', detail = '500', message = 'an organization has too many members';
  end if;
  return null;
end $$;
create trigger limit_members after insert on people.invitations for each row execute function people.limit_members();

-- Members and invitations are of an organization, so the logs of both of its environments have their changes. A changed row
-- shows what has changed, and no row shows the hash of a link.
create function people.audit_change() returns trigger
  language plpgsql volatile security definer set search_path = public, pg_temp as $$
declare
  microseconds bigint := extract(epoch from clock_timestamp()) * 1000000;
  key_id text := nullif(current_setting('tollkeeper.api_key_id', true), '');
  person_id text := nullif(current_setting('tollkeeper.user_id', true), '');
  unsaid text[] := array['organization_id', 'user_id', 'id', 'token_hash', 'updated_at'];
  was jsonb := case when tg_op <> 'INSERT' then jsonb_strip_nulls(to_jsonb(old) - unsaid) end;
  becomes jsonb := case when tg_op <> 'DELETE' then jsonb_strip_nulls(to_jsonb(new) - unsaid) end;
  changed text[] := array(select e.key from jsonb_each(was || becomes) e where was -> e.key is distinct from becomes -> e.key);
  row_of jsonb := to_jsonb(coalesce(new, old));
begin
  -- Each start prints another first link, as long as there is no member. Nobody has changed anything by that.
  if tg_table_name = 'invitations' and row_of ->> 'email' is null then
    return null;
  end if;
  if tg_op = 'UPDATE' then
    was := (select jsonb_object_agg(key, was -> key) from unnest(changed) key);
    becomes := (select jsonb_object_agg(key, becomes -> key) from unnest(changed) key);
    if was is null then
      return null;
    end if;
  end if;
  insert into audit_log (environment_id, id, occurred_at, actor_type, api_key_id, user_id, action, request_id, record, record_id,
                         operation, before, after)
    select e.id, 'audit_' || lpad(to_hex(microseconds), 14, '0') || lpad(to_hex(pg_backend_pid()), 6, '0') || to_hex(1048576),
           microseconds / 1000,
           case when key_id is not null then 'api_key' when person_id is not null then 'user' else
             coalesce(nullif(current_setting('tollkeeper.actor_type', true), ''), 'operator') end,
           key_id, person_id, nullif(current_setting('tollkeeper.action', true), ''),
           nullif(current_setting('tollkeeper.request_id', true), ''), tg_argv[0], row_of ->> tg_argv[1], lower(tg_op), was, becomes
      from environments e where e.organization_id = row_of ->> 'organization_id';
  return null;
end $$;
create trigger audit_change after insert or update or delete on people.memberships for each row
  execute function people.audit_change('member', 'user_id');
create trigger audit_change after insert or update or delete on people.invitations for each row
  execute function people.audit_change('invitation', 'id');

-- Finds the person of a session and puts the transaction into an environment of an organization that they belong to, as
-- `authenticate` does for a key. The session, the membership and the role are those of this moment.
create function authenticate_session(session_token text, wanted bigint, at bigint, sufficient_roles text[]) returns environment_scope
  language plpgsql volatile security definer set search_path = public, pg_temp as $$
declare
  found_scope environment_scope;
begin
  select case when m.role = any (sufficient_roles) is not false then e.id end, e.organization_id, e.livemode, e.currency,
         shared_settings(e), e.clock_now, null, null, m.user_id, m.role
    into found_scope
    from people.sessions s
    join people.memberships m on m.user_id = s.user_id
    join environments e on e.organization_id = m.organization_id
   where s.token = session_token and s.expires_at > to_timestamp(at / 1000.0) and e.id = wanted;
  perform set_config('tollkeeper.environment_id', coalesce(found_scope.environment_id::text, ''), true),
          set_config('tollkeeper.pricing_model_id', '', true),
          set_config('tollkeeper.api_key_id', '', true),
          set_config('tollkeeper.user_id', coalesce(found_scope.user_id, ''), true);
  return found_scope;
end $$;
