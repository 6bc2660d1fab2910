-- Jobs are rows of the commit that needs them. The service role may add a job through this function and nothing else:
-- the queue's own tables belong to the owner.
create function enqueue_job(task text, payload json, job_key text, run_at timestamptz, max_attempts integer) returns void
  language plpgsql volatile security definer set search_path from current as $$
begin
  perform graphile_worker.add_job(task, payload => payload, job_key => job_key, run_at => run_at, max_attempts => max_attempts);
end $$;

-- Whether the queue has a job with this key, or a job of a task that is still tried and mentions an id. Functions, because the queue
-- may be beside the node of the schema: Citus joins no local table with its own.
create function has_job_with_key(wanted text) returns boolean language plpgsql stable as $$
begin
  return exists (select from graphile_worker._private_jobs j where j.key = wanted);
end $$;
create function has_job(task text, mentioned text) returns boolean language plpgsql stable as $$
begin
  return exists (
    select from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
     where t.identifier = task and j.attempts < j.max_attempts and strpos(j.payload::text, mentioned) > 0);
end $$;

-- The pricing models of the environment in use whose subscriptions a job is to schedule again.
create function pricing_models_to_schedule() returns setof text
  language plpgsql stable security definer set search_path from current as $$
begin
  return query
    select distinct j.payload ->> 'pricingModelId'
      from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
     where t.identifier = 'schedule_interims' and (j.payload ->> 'environmentId')::bigint = current_environment();
end $$;

-- Answers that are too old to be replayed go, in every environment, a bounded number at a time.
create function forget_old_answers(before bigint, at_most integer) returns bigint
  language sql volatile security definer set search_path from current
  begin atomic
    with forgotten as (
      delete from idempotency_keys where (environment_id, key) in
        (select environment_id, key from idempotency_keys where created_at <= before order by created_at limit at_most)
      returning 1)
    select count(*) from forgotten;
  end;
