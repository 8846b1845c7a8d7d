#include "store/etcd/repetition.h"

#include <algorithm>

namespace porthole::store::etcd {
namespace {

const std::string& written_key(const Operation& operation) {
    return std::visit([](const auto& one) -> const std::string& { return one.key; }, operation);
}

bool concerns(const Transaction& transaction, std::string_view key) {
    return std::ranges::any_of(transaction.guards, [&](const Guard& guard) { return guard.key == key; }) ||
           std::ranges::any_of(transaction.operations, [&](const Operation& operation) { return written_key(operation) == key; });
}

}  // namespace

Repetition repetition_of(const Transaction& transaction) {
    Repetition repetition = Repetition::Never;
    for (const Guard& guard : transaction.guards) {
        for (const Operation& operation : transaction.operations) {
            if (written_key(operation) != guard.key) continue;
            if (guard.kind == Guard::Kind::Unchanged) return Repetition::Always;
            if (std::holds_alternative<Put>(operation) == (guard.kind == Guard::Kind::Absent)) repetition = Repetition::IfNothingHappened;
        }
    }
    return repetition;
}

std::string change_since(const History& history, const Transaction& transaction, Revision after) {
    if (history.compacted() > after) return "what has happened meanwhile is not known";
    for (std::uint64_t i = history.first_after(after); i < history.log_end(); ++i) {
        const Event& event = *history.event(i);
        if (concerns(transaction, event.record->key))
            return "key \"" + event.record->key + "\" was changed at revision " + to_string(event.revision);
    }
    return "";
}

}  // namespace porthole::store::etcd
