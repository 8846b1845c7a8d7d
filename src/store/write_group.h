#pragma once
#include <unordered_map>
#include <vector>

#include "store/history.h"

namespace porthole::store {

/// Transactions that are written to disk together. Each is checked against the visible state and the effect of the earlier ones. Owns the
/// commits until they are written; `history` must not change while the group is formed.
class WriteGroup {
public:
    explicit WriteGroup(const History& history) : history_(history), revision_(history.revision()) {}

    enum class Admission {
        Joined,
        Deferred,  ///< only changes of this group conflict: try again once they are visible
    };
    /// Adds the transaction unless a guard refuses it; otherwise leaves it unchanged. Errors: AlreadyExists, NotFound, Conflict, each
    /// because of state that readers can already see.
    Result<Admission> admit(Transaction& transaction);

    static constexpr std::size_t NoRow = SIZE_MAX;  ///< index of an operation without a row
    /// Where the changes of one admitted transaction are; members() holds one per transaction, in the order of admission.
    struct Member {
        std::size_t commit = NoRow;                                 ///< index into commits(); NoRow if nothing changes
        std::vector<std::size_t> rows;                              ///< per operation: index into that commit's rows, or NoRow
        std::vector<std::shared_ptr<const Attributes>> attributes;  ///< per operation, as given by the caller
    };
    std::vector<Member>& members() { return members_; }
    std::vector<Commit>& commits() { return commits_; }
    std::size_t bytes() const { return bytes_; }

private:
    struct State {
        bool exists = false;
        Revision created, modified;
        bool visible = true;  ///< false: it is in this state only because of this group
    };
    State state_of(const std::string& key) const;
    /// True if it holds, false if only changes of this group conflict.
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
