#include "store/guard_check.h"

namespace porthole::store {

bool holds(const Guard& guard, const KeyState& state) {
    if (guard.kind == Guard::Kind::Absent) return !state.exists;
    return state.exists && (guard.kind == Guard::Kind::Present || state.modified == guard.modified);
}

Error refusal_of(const Guard& guard, const KeyState& state) {
    const std::string key = "key \"" + guard.key + "\"";
    if (guard.kind == Guard::Kind::Absent) return Error(Reason::AlreadyExists, key + " already exists");
    if (!state.exists) return Error(Reason::NotFound, key + " not found");
    return Error(Reason::Conflict,
                 key + " was changed at revision " + to_string(state.modified) + ", after revision " + to_string(guard.modified));
}

}  // namespace porthole::store
