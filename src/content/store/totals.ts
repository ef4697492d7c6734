// Owns how many resources a tenant has and how many bytes they take. They are counted once in the life of the tenant's
// object and kept in memory from then on: counting reads every row, and every write asks.

export interface Totals {
  readonly resources: number;
  readonly bytes: number;
}

const counted = new WeakMap<SqlStorage, Totals>();

export function countAll(sql: SqlStorage): Totals {
  let totals = counted.get(sql);
  if (!totals) {
    const query = "SELECT count(*) AS resources, coalesce(sum(size), 0) AS bytes FROM resources";
    const { resources, bytes } = sql.exec<{ resources: number; bytes: number }>(query).one();
    totals = { resources, bytes };
    counted.set(sql, totals);
  }
  return totals;
}

/** A row of so many bytes came, or with -1 went. */
export function countRow(sql: SqlStorage, size: number, sign: 1 | -1): void {
  const totals = counted.get(sql);
  if (totals) counted.set(sql, { resources: totals.resources + sign, bytes: totals.bytes + sign * size });
}

/** A write failed halfway and was rolled back, so what was counted is not so. */
export function countAnew(sql: SqlStorage): void {
  counted.delete(sql);
}
