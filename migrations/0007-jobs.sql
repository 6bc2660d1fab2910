-- Jobs are rows of the commit that needs them. The service role may add a job through this function and nothing else:
-- the queue's own tables belong to the owner.
create function enqueue_job(task text, payload json, job_key text, run_at timestamptz, max_attempts integer) returns void
  language plpgsql volatile security definer set search_path = public, pg_temp as $$
begin
  perform graphile_worker.add_job(task, payload => payload, job_key => job_key, run_at => run_at, max_attempts => max_attempts);
end $$;
