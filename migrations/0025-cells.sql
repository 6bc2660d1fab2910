-- The cells of an installation: docs/decisions/0176-customers-live-in-cells.md. A cell is a whole schema, made by these migrations. The
-- home cell also has the list of the others.

-- One row: the installation that this schema belongs to. Another cell has that of its home cell.
create table cell (
  id boolean primary key default true constraint cell_one check (id),
  installation uuid not null default gen_random_uuid(),
  is_home boolean not null default true
);
insert into cell default values;
grant select on cell to tollkeeper_worker;

-- The cells besides the home cell, in the home cell. Each is complete before it is here.
create table cells (
  -- The name of its schema.
  name text collate "C" primary key,
  -- The server and the database, without user and password. Null: those of the home cell.
  address text,
  created_at bigint not null,
  constraint cells_name check (name ~ '^[a-z_][a-z0-9_]{0,39}$'),
  constraint cells_address check (char_length(address) <= 2000 and address ~ '^postgres(ql)?://[^@]+$')
);
grant select, insert on cells to tollkeeper_worker;
