create table webhooks (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  name text not null,
  url text not null,
  active boolean not null,
  filter_types text[] not null,
  secret text not null,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, pricing_model_id) references pricing_models
);

create table webhook_deliveries (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  webhook_id text collate "C" not null,
  event_id text collate "C" not null,
  status text not null,
  attempts integer not null default 0,
  next_attempt_at bigint,
  last_attempt_at bigint,
  last_status_code integer,
  last_error text,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, webhook_id) references webhooks on delete cascade,
  foreign key (environment_id, event_id) references events,
  -- An event goes to an endpoint as one delivery, however often the relay runs.
  constraint webhook_deliveries_once unique (environment_id, event_id, webhook_id),
  constraint webhook_deliveries_status check (status in ('pending', 'succeeded', 'failed')),
  constraint webhook_deliveries_pending_has_time check ((status = 'pending') = (next_attempt_at is not null))
);
create index webhook_deliveries_by_webhook on webhook_deliveries (environment_id, webhook_id, id);
