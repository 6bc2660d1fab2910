-- The one way from an environment into another: to the other mode of the same organization, for the copy of a pricing
-- model that is made in test mode and goes live (or comes back to be tried out). Row-level security hides the other
-- environment and all of its rows from the service role, and rightly so: a request that only forgot a condition cannot
-- leave its environment. A clone reads in one and writes in the other, in one transaction, so it has to say so.
-- A key that is pinned to one pricing model stays there.
create function switch_environment(wanted_livemode boolean) returns environment_scope
  language plpgsql volatile security definer set search_path from current as $$
declare
  found_scope environment_scope;
begin
  if current_pricing_model() is not null then
    raise insufficient_privilege using message = 'a key that is pinned to a pricing model may not change the environment';
  end if;
  select other.id, other.organization_id, other.livemode, other.currency, shared_settings(row(other.*)::environments), other.clock_now, null, null, null, null
    into strict found_scope
    from environments here
    join environments other on other.organization_id = here.organization_id
   where here.id = current_environment() and other.livemode = wanted_livemode;
  perform set_config('tollkeeper.environment_id', found_scope.environment_id::text, true);
  return found_scope;
end $$;
