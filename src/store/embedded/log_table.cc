#include "store/embedded/log_table.h"

namespace porthole::store {

Result<Row> read_log_row(const Statement& statement) {
    Row row;
    const std::int64_t id = statement.integer(0);
    row.revision = Revision(static_cast<std::uint64_t>(id / IdsPerRevision));
    row.index = static_cast<std::uint32_t>(id % IdsPerRevision);
    row.key = statement.text(1);
    row.deleted = statement.is_null(2);
    row.value = statement.text(2);
    const std::int64_t at = statement.is_null(3) ? 0 : statement.integer(3);
    if (!statement.is_null(3)) row.revision_at = static_cast<std::uint32_t>(at);
    row.created = Revision(static_cast<std::uint64_t>(statement.integer(4)));
    row.lease = LeaseId(static_cast<std::uint64_t>(statement.integer(5)));
    if (id < 0 || at < 0 || static_cast<std::uint64_t>(at) > row.value.size())
        return Error(Reason::Io, "it is damaged at revision " + std::to_string(id / IdsPerRevision));
    return row;
}

Result<void> insert_log_row(Statement& insert, const Row& row) {
    insert.bind(1, log_id(row.revision, row.index)).bind(2, row.key);
    if (row.deleted) {
        insert.bind_null(3);
    } else {
        insert.bind_blob(3, row.value);
    }
    if (row.revision_at) {
        insert.bind(4, static_cast<std::int64_t>(*row.revision_at));
    } else {
        insert.bind_null(4);
    }
    insert.bind(5, static_cast<std::int64_t>(row.created.value)).bind(6, static_cast<std::int64_t>(row.lease.value));
    return insert.run();
}

Result<std::int64_t> read_number(Database& database, const char* sql) {
    TRY(Statement statement, database.prepare(sql));
    TRY(const bool found, statement.step());
    return found ? statement.integer(0) : 0;
}

}  // namespace porthole::store
