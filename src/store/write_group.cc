#include "store/write_group.h"

#include <set>

#include "store/guard_check.h"
#include "store/lease_table.h"

namespace porthole::store {
namespace {

const std::string& key_of(const Operation& operation) {
    return std::visit([](const auto& one) -> const std::string& { return one.key; }, operation);
}

bool keys_are_distinct(const std::vector<Operation>& operations) {
    if (operations.size() < 2) return true;
    std::set<std::string_view> keys;
    for (const Operation& operation : operations) {
        if (!keys.insert(key_of(operation)).second) return false;
    }
    return true;
}

}  // namespace

WriteGroup::State WriteGroup::state_of(const std::string& key) const {
    if (const auto found = changed_.find(key); found != changed_.end()) return found->second;
    const RecordPtr record = history_.get(key);
    if (!record) return {};
    return {.exists = true, .created = record->created, .modified = record->modified};
}

Result<bool> WriteGroup::check(const Guard& guard) const {
    const State state = state_of(guard.key);
    const KeyState key{.exists = state.exists, .modified = state.modified};
    if (holds(guard, key)) return true;
    if (state.visible) return refusal_of(guard, key);
    return false;
}

Result<WriteGroup::Admission> WriteGroup::admit(Transaction& transaction) {
    CHECK(transaction.operations.size() <= Transaction::MaxOperations);
    CHECK(keys_are_distinct(transaction.operations));
    bool all_hold = true;
    for (const Guard& guard : transaction.guards) {
        TRY(const bool holds, check(guard));
        all_hold = all_hold && holds;
    }
    for (const Operation& operation : transaction.operations) {
        const Put* put = std::get_if<Put>(&operation);
        if (!put) continue;
        CHECK(!put->revision_at || *put->revision_at <= put->value.size());
        if (!put->lease) continue;
        TRY(const bool holds, check(Guard::present(lease_key(put->lease))));
        all_hold = all_hold && holds;
    }
    if (!all_hold) return Admission::Deferred;

    Commit commit;
    Member member;
    for (Operation& operation : transaction.operations) add_row(commit, operation, member);
    if (!commit.rows.empty()) {
        commit.guards = std::move(transaction.guards);
        member.commit = commits_.size();
        revision_ = revision_.next();
        commits_.push_back(std::move(commit));
    }
    members_.push_back(std::move(member));
    return Admission::Joined;
}

void WriteGroup::add_row(Commit& commit, Operation& operation, Member& member) {
    const State before = state_of(key_of(operation));
    Put* put = std::get_if<Put>(&operation);
    member.attributes.push_back(put ? std::move(put->attributes) : nullptr);
    if (!put && !before.exists) {
        member.rows.push_back(NoRow);
        return;
    }
    Row row;
    row.revision = revision_.next();
    row.index = static_cast<std::uint32_t>(commit.rows.size());
    State after{.exists = put != nullptr, .visible = false};
    if (put) {
        row.key = std::move(put->key);
        row.value = std::move(put->value);
        row.revision_at = put->revision_at;
        row.lease = put->lease;
        row.created = before.exists ? before.created : row.revision;
        after.created = row.created;
        after.modified = row.revision;
    } else {
        row.key = std::move(std::get<Delete>(operation).key);
        row.deleted = true;
    }
    bytes_ += row.key.size() + row.value.size();
    changed_[row.key] = after;
    member.rows.push_back(commit.rows.size());
    commit.rows.push_back(std::move(row));
}

}  // namespace porthole::store
