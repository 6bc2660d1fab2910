-- Jobs are rows of the commit that needs them. The service role may add a job through this function and nothing else:
-- the queue's own tables belong to the owner.
create function enqueue_job(task text, payload json, job_key text, run_at timestamptz, max_attempts integer) returns void
  language plpgsql volatile security definer set search_path from current as $$
begin
  perform graphile_worker.add_job(task, payload => payload, job_key => job_key, run_at => run_at, max_attempts => max_attempts);
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
