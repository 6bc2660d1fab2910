create index subscriptions_cancel_due on subscriptions (cancel_scheduled_at) where status = 'cancellation_scheduled';

-- Where something has come to its end by the environment's own time. What that is, the service looks up inside of it.
create function environments_with_endings_due(at bigint, incomplete_lifetime bigint) returns setof bigint
  language sql stable security definer set search_path from current
  begin atomic
    select distinct s.environment_id
      from subscriptions s join environments e on e.id = s.environment_id
     where (s.status = 'cancellation_scheduled' and s.cancel_scheduled_at <= coalesce(e.clock_now, at))
        or (s.status = 'incomplete' and s.current_billing_period_start is null
            and s.created_at <= coalesce(e.clock_now, at) - incomplete_lifetime);
  end;
