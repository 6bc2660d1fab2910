-- People who sign in, and the organizations that they belong to. Outside of the tenants' tables: a person may belong to several
-- organizations. Users, sessions, accounts, passkeys and the rest are as the library better-auth writes them; members and
-- invitations are ours. The role of requests sees the people of its organization and no secret; the worker signs people in.

create table people_users (
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

create table people_sessions (
  id text collate "C" primary key,
  token text collate "C" not null,
  user_id text collate "C" not null references people_users on delete cascade,
  -- The provider that vouched for the person. Such a session counts in the organization of the provider only.
  sign_in_provider_id text collate "C",
  expires_at timestamptz(3) not null,
  ip_address text,
  user_agent text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint sessions_token_unique unique (token)
);
create index sessions_by_user on people_sessions (user_id);
create index sessions_by_expiry on people_sessions (expires_at);
create index sessions_by_provider on people_sessions (sign_in_provider_id) where sign_in_provider_id is not null;

-- The ways in which a person signs in: a password (a hash that is slow to make), or an account with a provider.
create table people_accounts (
  id text collate "C" primary key,
  account_id text not null,
  provider_id text not null,
  user_id text collate "C" not null references people_users on delete cascade,
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
create index accounts_by_user on people_accounts (user_id);

-- Short-lived values, such as the state of a sign-in that is under way.
create table people_verifications (
  id text collate "C" primary key,
  identifier text not null,
  value text not null,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index verifications_by_identifier on people_verifications (identifier);
create index verifications_by_expiry on people_verifications (expires_at);

-- Encrypted by the library with a secret that the database does not have.
create table people_two_factors (
  id text collate "C" primary key,
  secret text not null,
  backup_codes text not null,
  user_id text collate "C" not null references people_users on delete cascade,
  verified boolean default true,
  failed_verification_count integer default 0,
  locked_until timestamptz(3)
);
create index two_factors_by_secret on people_two_factors (secret);
create index two_factors_by_user on people_two_factors (user_id);

create table people_passkeys (
  id text collate "C" primary key,
  name text,
  public_key text not null,
  user_id text collate "C" not null references people_users on delete cascade,
  credential_id text not null,
  counter bigint not null,
  device_type text not null,
  backed_up boolean not null,
  transports text,
  created_at timestamptz(3),
  aaguid text,
  constraint passkeys_credential_unique unique (credential_id)
);
create index passkeys_by_user on people_passkeys (user_id);

-- How often an address asked for a path, and how often somebody tried the password of a person. Every process counts here.
create table people_rate_limits (
  id text collate "C" primary key,
  key text not null,
  count integer not null,
  last_request bigint not null,
  constraint rate_limits_key_unique unique (key)
);
create index rate_limits_by_time on people_rate_limits (last_request);

create table people_memberships (
  organization_id text collate "C" not null references organizations,
  user_id text collate "C" not null references people_users on delete cascade,
  role text not null,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (organization_id, user_id),
  constraint memberships_role check (role in ('owner', 'billing', 'support', 'developer', 'viewer'))
);
create index memberships_by_user on people_memberships (user_id);

create table people_invitations (
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
  accepted_by text collate "C" references people_users on delete set null,
  constraint invitations_token_unique unique (token_hash),
  constraint invitations_role check (role in ('owner', 'billing', 'support', 'developer', 'viewer')),
  constraint invitations_email check (email = lower(email) and char_length(email) <= 320),
  constraint invitations_token_is_sha256 check (octet_length(token_hash) = 32)
);
create index invitations_by_organization on people_invitations (organization_id, id);
create index invitations_by_expiry on people_invitations (expires_at) where accepted_at is null;
-- One link that works for each address.
create unique index invitations_one_open on people_invitations (organization_id, email) where accepted_at is null;

-- The provider by which an organization signs in its members. A change of it is another provider: it gets another id.
create table people_sign_in_providers (
  id text collate "C" primary key,
  organization_id text collate "C" not null references organizations,
  protocol text not null,
  -- The people who are sent here by their address, once the organization has shown that the domain is its own.
  domain text not null,
  domain_verified_at bigint,
  -- Of OpenID Connect. The secret is encrypted with a key that the database does not have.
  issuer text,
  client_id text,
  sealed_client_secret text,
  -- Of SAML.
  entity_id text,
  entry_point text,
  certificate text,
  created_at bigint not null,
  constraint sign_in_providers_one_per_organization unique (organization_id),
  constraint sign_in_providers_protocol check (
    case protocol
      when 'oidc' then num_nulls(issuer, client_id, sealed_client_secret) = 0 and num_nonnulls(entity_id, entry_point, certificate) = 0
      when 'saml' then num_nulls(entity_id, entry_point, certificate) = 0 and num_nonnulls(issuer, client_id, sealed_client_secret) = 0
      else false
    end),
  constraint sign_in_providers_domain check (domain = lower(domain) and char_length(domain) <= 253),
  constraint sign_in_providers_texts check (
    char_length(issuer) <= 2048 and char_length(client_id) <= 255 and char_length(sealed_client_secret) <= 4096
    and char_length(entity_id) <= 2048 and char_length(entry_point) <= 2048 and char_length(certificate) <= 16384)
);
-- A domain leads to one provider.
create unique index sign_in_providers_one_by_domain on people_sign_in_providers (domain) where domain_verified_at is not null;

-- The members that a provider has vouched for, by the name that it knows them by. Only a member has one.
create table people_provider_subjects (
  provider_id text collate "C" not null references people_sign_in_providers on delete cascade,
  subject text collate "C" not null,
  organization_id text collate "C" not null,
  user_id text collate "C" not null,
  created_at bigint not null,
  primary key (provider_id, subject),
  constraint provider_subjects_one_per_person unique (provider_id, user_id),
  constraint provider_subjects_member foreign key (organization_id, user_id) references people_memberships on delete cascade,
  constraint provider_subjects_text check (char_length(subject) <= 255)
);
create index provider_subjects_by_member on people_provider_subjects (organization_id, user_id);
alter table people_sessions add constraint sessions_provider
  foreign key (sign_in_provider_id) references people_sign_in_providers on delete cascade;

-- Everybody whom the provider has signed in proves it to the new one. A sign-in that is under way fails by the foreign keys.
create function end_provider_sessions() returns trigger
  language plpgsql volatile security definer set search_path from current as $$
begin
  delete from people_sessions where sign_in_provider_id = old.id;
  delete from people_provider_subjects where provider_id = old.id;
  return new;
end $$;
create trigger end_provider_sessions before update of id on people_sign_in_providers for each row
  when (old.id <> new.id) execute function end_provider_sessions();

create function current_organization() returns text language sql stable
  return (select organization_id from environments where id = current_environment());

alter table people_users enable row level security;
alter table people_memberships enable row level security;
alter table people_invitations enable row level security;
alter table people_sign_in_providers enable row level security;
create policy tenant on people_memberships to tollkeeper_service using (organization_id = (select current_organization()));
create policy tenant on people_invitations to tollkeeper_service using (organization_id = (select current_organization()));
create policy tenant on people_sign_in_providers to tollkeeper_service using (organization_id = (select current_organization()));
-- A function, because Citus takes no policy with a subquery. It sees the memberships that its caller sees.
create function sees_person(wanted_user text) returns boolean language plpgsql stable set search_path from current as $$
begin
  return exists (select from people_memberships m where m.user_id = wanted_user);
end $$;
create policy tenant on people_users for select to tollkeeper_service using (sees_person(id));
create policy worker on people_users to tollkeeper_worker using (true);
create policy worker on people_memberships to tollkeeper_worker using (true);
create policy worker on people_invitations to tollkeeper_worker using (true);
create policy worker on people_sign_in_providers to tollkeeper_worker using (true);
grant select, insert, update, delete on people_users, people_sessions, people_accounts, people_verifications, people_two_factors,
  people_passkeys, people_rate_limits, people_memberships, people_invitations, people_sign_in_providers, people_provider_subjects
  to tollkeeper_worker;
grant select (id, name, email, two_factor_enabled, created_at) on people_users to tollkeeper_service;
grant select, delete, update (role, updated_at) on people_memberships to tollkeeper_service;
grant select, insert, delete on people_invitations to tollkeeper_service;
grant select, insert, update, delete on people_sign_in_providers to tollkeeper_service;

-- An organization that has an owner keeps one. The lock makes two owners who step down at the same time wait for each other.
create function keep_an_owner() returns trigger
  language plpgsql volatile security definer set search_path from current as $$
begin
  perform from organizations where id = old.organization_id for no key update;
  if not exists (select from people_memberships where organization_id = old.organization_id and role = 'owner') then
    raise check_violation using constraint = 'memberships_keep_an_owner', message = 'an organization keeps an owner';
  end if;
  return null;
end $$;
create trigger keep_an_owner after update of role or delete on people_memberships for each row
  when (old.role = 'owner') execute function keep_an_owner();

-- One answer has all members and open invitations of an organization. The lock makes counting and adding one step.
create function limit_members() returns trigger
  language plpgsql volatile security definer set search_path from current as $$
begin
  perform from organizations where id = new.organization_id for no key update;
  if (select count(*) from people_memberships where organization_id = new.organization_id)
    + (select count(*) from people_invitations where organization_id = new.organization_id and accepted_at is null) > 500
  then
    raise program_limit_exceeded using table = 'members', detail = '500', message = 'an organization has too many members';
  end if;
  return null;
end $$;
create trigger limit_members after insert on people_invitations for each row execute function limit_members();

-- Members and invitations are of an organization, so the logs of both of its environments have their changes. A changed row
-- shows what has changed, and no row shows a secret.
create function audit_people() returns trigger
  language plpgsql volatile security definer set search_path from current as $$
declare
  microseconds bigint := extract(epoch from clock_timestamp()) * 1000000;
  key_id text := nullif(current_setting('tollkeeper.api_key_id', true), '');
  person_id text := nullif(current_setting('tollkeeper.user_id', true), '');
  unsaid text[] := array['organization_id', 'user_id', 'id', 'token_hash', 'sealed_client_secret', 'updated_at'];
  was jsonb := case when tg_op <> 'INSERT' then jsonb_strip_nulls(to_jsonb(old) - unsaid) end;
  becomes jsonb := case when tg_op <> 'DELETE' then jsonb_strip_nulls(to_jsonb(new) - unsaid) end;
  changed text[] := array(select e.key from jsonb_each(was || becomes) e where was -> e.key is distinct from becomes -> e.key);
  row_of jsonb := to_jsonb(coalesce(new, old));
begin
  -- Each start prints another first link, as long as there is no member. Nobody has changed anything by that.
  if table_of_trigger(tg_table_name) = 'people_invitations' and row_of ->> 'email' is null then
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
create trigger audit_change after insert or update or delete on people_memberships for each row
  execute function audit_people('member', 'user_id');
create trigger audit_change after insert or update or delete on people_invitations for each row
  execute function audit_people('invitation', 'id');
create trigger audit_change after insert or update or delete on people_sign_in_providers for each row
  execute function audit_people('signInProvider', 'id');

-- Finds the person of a session and puts the transaction into an environment of an organization that they belong to, as
-- `authenticate` does for a key. The session, the membership and the role are those of this moment. A provider vouches for
-- nobody outside of its own organization.
create function authenticate_session(session_token text, wanted bigint, at bigint, sufficient_roles text[]) returns environment_scope
  language plpgsql volatile security definer set search_path from current as $$
declare
  found_scope environment_scope;
begin
  select case when m.role = any (sufficient_roles) is not false then e.id end, e.organization_id, e.livemode, e.currency,
         shared_settings(row(e.*)::environments), e.clock_now, null, null, m.user_id, m.role
    into found_scope
    from people_sessions s
    join people_memberships m on m.user_id = s.user_id
    join environments e on e.organization_id = m.organization_id
   where s.token = session_token and s.expires_at > to_timestamp(at / 1000.0) and e.id = wanted
     and (s.sign_in_provider_id is null or m.organization_id =
           (select p.organization_id from people_sign_in_providers p where p.id = s.sign_in_provider_id));
  perform set_config('tollkeeper.environment_id', coalesce(found_scope.environment_id::text, ''), true),
          set_config('tollkeeper.pricing_model_id', '', true),
          set_config('tollkeeper.api_key_id', '', true),
          set_config('tollkeeper.user_id', coalesce(found_scope.user_id, ''), true);
  return found_scope;
end $$;

-- Sign-ins, links and counts that nobody can use any more go, a bounded number of each at a time.
create function forget_sign_ins(before bigint, at_most integer) returns bigint
  language sql volatile security definer set search_path from current
  begin atomic
    with ended_sessions as (
      delete from people_sessions where id in (
        select id from people_sessions where expires_at <= to_timestamp(before / 1000.0) order by expires_at limit at_most)
      returning 1),
    ended_verifications as (
      delete from people_verifications where id in (
        select id from people_verifications where expires_at <= to_timestamp(before / 1000.0) order by expires_at limit at_most)
      returning 1),
    ended_invitations as (
      delete from people_invitations where id in (
        select id from people_invitations where accepted_at is null and expires_at <= before order by expires_at limit at_most)
      returning 1),
    -- No window of counting is longer than a day.
    ended_counts as (
      delete from people_rate_limits where id in (
        select id from people_rate_limits where last_request <= before - 86400000 order by last_request limit at_most)
      returning 1)
    select count(*) from (
      select from ended_sessions union all select from ended_verifications
      union all select from ended_invitations union all select from ended_counts) ended;
  end;
