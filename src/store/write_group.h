#pragma once
#include <unordered_map>
#include <vector>

#include "store/history.h"

namespace porthole::store {

/// Transactions that go to disk together, each checked against the visible state and what those before it will do. Owns the commits
/// until they are written; `history` must not change while the group is formed.
class WriteGroup {
public:
    explicit WriteGroup(const History& history) : history_(history), revision_(history.revision()) {}

    enum class Admission {
        Joined,
        Deferred,  ///< only this group's own changes are against it: ask again once they are visible
    };
    /// Takes the transaction in unless a guard refuses it; else leaves it as it is. Errors: AlreadyExists, NotFound,
    /// Conflict, each because of what readers can already see.
    Result<Admission> admit(Transaction& transaction);

    static constexpr std::size_t NoRow = SIZE_MAX;  ///< in place of an index where there is nothing to point at
    /// Where the changes of one admitted transaction are; members() holds one per transaction, in the order of admission.
    struct Member {
        std::size_t commit = NoRow;                                 ///< index into commits(); NoRow when nothing changes
        std::vector<std::size_t> rows;                              ///< per operation: index into that commit's rows, or NoRow
        std::vector<std::shared_ptr<const Attributes>> attributes;  ///< per operation, as the caller gave them
    };
    std::vector<Member>& members() { return members_; }
    std::vector<Commit>& commits() { return commits_; }
    std::size_t bytes() const { return bytes_; }

private:
    struct State {
        bool exists = false;
        Revision created, modified;
        bool visible = true;  ///< false: so only because of this group
    };
    State state_of(const std::string& key) const;
    /// True if it holds, false if only this group's changes are against it.
    Result<bool> check(const Guard& guard) const;
    void add_row(Commit& commit, Operation& operation, Member& member);

    const History& history_;
    Revision revision_;
    std::unordered_map<std::string, State> changed_;
    std::vector<Member> members_;
    std::vector<Commit> commits_;
    std::size_t bytes_ = 0;
};

}  // namespace porthole::store
