#include "linearizability/history.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

namespace porthole::linearizability {
namespace {

using Kind = Operation::Kind;
using Outcome = Operation::Outcome;

const char* name_of(Kind kind) {
    constexpr const char* Names[] = {"create", "update", "delete", "get"};
    return Names[static_cast<int>(kind)];
}

std::string text_of(const Operation& operation) {
    constexpr const char* Outcomes[] = {"done", "not found", "already exists", "conflict", "no answer"};
    std::string text = "client " + std::to_string(operation.client) + " " + name_of(operation.kind) + " " + operation.key;
    if (operation.expected) text += " if " + std::to_string(operation.expected);
    if (!operation.value.empty()) text += " " + operation.value;
    text += " -> " + std::string(Outcomes[static_cast<int>(operation.outcome)]);
    if (operation.revision) text += " at " + std::to_string(operation.revision);
    const std::string returned = operation.returned == Never ? "..." : std::to_string(operation.returned);
    return text + " [" + std::to_string(operation.invoked) + ", " + returned + "]";
}

bool is_write(const Operation& operation) { return operation.kind != Kind::Get; }

// One key

/// What a key is between two operations. A revision of 0 of an object that is there has not been seen yet.
struct Register {
    bool exists = false;
    std::string value;
    std::uint64_t revision = 0;
    std::uint64_t last = 0;  ///< no later write has a revision up to this
    auto operator<=>(const Register&) const = default;
};

/// The state after `operation`, if its answer fits `before`.
std::optional<Register> after(const Operation& operation, const Register& before) {
    const bool matches = operation.expected == 0 || before.revision == 0 || before.revision == operation.expected;
    Register next = before;
    const auto written = [&]() -> std::optional<Register> {
        if (operation.revision && operation.revision <= before.last) return {};
        next = {true, operation.value, operation.revision, std::max(before.last, operation.revision)};
        return next;
    };
    switch (operation.outcome) {
        case Outcome::Absent:
            return before.exists ? std::nullopt : std::optional(before);
        case Outcome::Exists:
            return before.exists ? std::optional(before) : std::nullopt;
        case Outcome::Conflict:
            return before.exists && (before.revision == 0 || before.revision != operation.expected) ? std::optional(before) : std::nullopt;
        default:
            break;
    }
    switch (operation.kind) {
        case Kind::Create:
            return before.exists ? std::nullopt : written();
        case Kind::Update:
            return before.exists && matches ? written() : std::nullopt;
        case Kind::Delete:
            if (!before.exists || !matches) return {};
            return Register{false, "", 0, std::max(before.last, operation.revision)};
        case Kind::Get:
            if (!before.exists || before.value != operation.value) return {};
            if (before.revision && before.revision != operation.revision) return {};
            if (!before.revision && operation.revision <= before.last) return {};
            next.revision = operation.revision;
            next.last = std::max(next.last, operation.revision);
            return next;
    }
    return {};
}

/// Looks for an order of one key's operations.
class Search {
public:
    explicit Search(std::vector<const Operation*> operations) : operations_(std::move(operations)), taken_(operations_.size(), 0) {
        std::ranges::sort(operations_, {}, &Operation::invoked);
    }
    /// "", or the operations around the place where no order leads on, and those without an answer, which may have come to pass at any
    /// time.
    std::string violation() {
        if (extend(Register(), 0)) return "";
        std::string text = "no order explains " + operations_.front()->key + ":";
        for (std::size_t i = 0; i < operations_.size(); ++i) {
            const bool near = operations_[i]->invoked + 60 > stuck_at_ && operations_[i]->invoked < stuck_at_ + 30;
            if (near || operations_[i]->outcome == Outcome::Unknown) text += "\n  " + text_of(*operations_[i]);
        }
        return text;
    }

private:
    bool extend(const Register& state, std::size_t first) {
        while (first < taken_.size() && taken_[first]) ++first;
        // An answer that has come sets a limit: what was asked after it comes after it.
        Moment limit = Never;
        bool all = true;
        for (std::size_t i = first; i < operations_.size() && operations_[i]->invoked < limit; ++i) {
            if (taken_[i]) continue;
            limit = std::min(limit, operations_[i]->returned);
            if (operations_[i]->outcome != Outcome::Unknown) all = false;
        }
        if (all && limit == Never) return true;
        if (!seen_.insert({taken_, state}).second) return false;
        if (limit != Never) stuck_at_ = std::max(stuck_at_, limit);
        for (std::size_t i = first; i < operations_.size() && operations_[i]->invoked < limit; ++i) {
            if (taken_[i]) continue;
            const auto next = after(*operations_[i], state);
            if (!next) continue;
            taken_[i] = 1;
            if (extend(*next, first)) return true;
            taken_[i] = 0;
        }
        return false;
    }

    std::vector<const Operation*> operations_;
    std::string taken_;
    std::set<std::pair<std::string, Register>> seen_;
    Moment stuck_at_ = 0;
};

// All keys

/// Revisions that were told must not lie before what had been told by then.
std::string find_step_back(const History& history) {
    struct Told {
        Moment invoked, returned;
        std::uint64_t revision;
        bool changes;  ///< its revision is its own, greater than any before
        std::string text;
    };
    std::vector<Told> all;
    for (const Operation& operation : history.operations) {
        if (operation.outcome != Outcome::Done || !operation.revision || !is_write(operation)) continue;
        all.push_back({operation.invoked, operation.returned, operation.revision, true, text_of(operation)});
    }
    for (const List& list : history.lists) {
        const std::string text = "client " + std::to_string(list.client) + " list -> " + std::to_string(list.revision);
        all.push_back({list.invoked, list.returned, list.revision, false, text + " [" + std::to_string(list.invoked) + "]"});
    }
    // In order of requests, what had been answered by then goes into the greatest revision that may not be undercut.
    std::vector<const Told*> by_return;
    for (const Told& told : all) by_return.push_back(&told);
    std::ranges::sort(by_return, {}, &Told::returned);
    std::vector<const Told*> by_request = by_return;
    std::ranges::sort(by_request, {}, &Told::invoked);
    const Told* greatest = nullptr;
    auto answered = by_return.begin();
    for (const Told* told : by_request) {
        for (; answered != by_return.end() && (*answered)->returned < told->invoked; ++answered) {
            if (!greatest || (*answered)->revision > greatest->revision) greatest = *answered;
        }
        if (greatest && (told->revision < greatest->revision || (told->changes && told->revision == greatest->revision))) {
            return "the revision goes back: " + told->text + " after " + greatest->text;
        }
    }
    return "";
}

/// What is known to have been written, by revision.
using Writes = std::map<std::uint64_t, WatchEvent>;

std::string text_of(const WatchEvent& event) {
    constexpr const char* Types[] = {"ADDED", "MODIFIED", "DELETED"};
    return std::string(Types[static_cast<int>(event.type)]) + " " + event.key + " " + event.value + " at " + std::to_string(event.revision);
}

/// Goes through one watch: order, types, and that each event is one that a client has asked for.
std::string find_wrong_event(const Watch& watch, const std::map<std::string, const Operation*>& writers) {
    std::uint64_t last = watch.from;
    Objects objects = watch.initial;
    for (const WatchEvent& event : watch.events) {
        if (event.revision <= last) return "a watch shows " + text_of(event) + " after revision " + std::to_string(last);
        last = event.revision;
        const bool exists = objects.contains(event.key);
        if (exists == (event.type == WatchEvent::Type::Added)) {
            return "a watch shows " + text_of(event) + " of an object that it has " + (exists ? "shown" : "not shown") + " before";
        }
        if (event.type == WatchEvent::Type::Deleted) {
            objects.erase(event.key);
            continue;
        }
        const auto writer = writers.find(event.value);
        if (writer == writers.end() || writer->second->key != event.key) return "a watch shows " + text_of(event) + ", which nobody wrote";
        objects[event.key] = {event.value, event.revision};
    }
    return "";
}

/// The watch must have led to what a list of its time shows.
std::string find_difference(const Watch& watch, const List& list) {
    if (list.revision < watch.from || list.revision > watch.to) return "";
    Objects objects = watch.initial;
    for (const WatchEvent& event : watch.events) {
        if (event.revision > list.revision) break;
        if (event.type == WatchEvent::Type::Deleted) {
            objects.erase(event.key);
        } else {
            objects[event.key] = {event.value, event.revision};
        }
    }
    for (const auto& [key, object] : objects) {
        const auto other = list.objects.find(key);
        const std::string at = " in the list of revision " + std::to_string(list.revision) + ", and at " + std::to_string(object.revision);
        if (other == list.objects.end()) return key + " is missing" + at + " in a watch from " + std::to_string(watch.from);
        if (!(other->second == object)) return key + " is at " + std::to_string(other->second.revision) + at + " in a watch";
    }
    for (const auto& [key, object] : list.objects) {
        if (!objects.contains(key)) {
            return key + " is in the list of revision " + std::to_string(list.revision) + " and not in a watch from " +
                   std::to_string(watch.from);
        }
    }
    return "";
}

/// Every write that is known must be in every watch of its time, with the same contents.
std::string find_missing_event(const Watch& watch, const Writes& writes) {
    auto shown = watch.events.begin();
    for (auto write = writes.upper_bound(watch.from); write != writes.end() && write->first <= watch.to; ++write) {
        while (shown != watch.events.end() && shown->revision < write->first) ++shown;
        const bool same = shown != watch.events.end() && shown->revision == write->first && shown->key == write->second.key &&
                          (write->second.type == WatchEvent::Type::Deleted) == (shown->type == WatchEvent::Type::Deleted) &&
                          (shown->type == WatchEvent::Type::Deleted || shown->value == write->second.value);
        if (!same)
            return "a watch from " + std::to_string(watch.from) + " to " + std::to_string(watch.to) + " lacks " + text_of(write->second);
    }
    return "";
}

std::string find_wrong_watch(const History& history) {
    std::map<std::string, const Operation*> writers;
    Writes writes;
    for (const Operation& operation : history.operations) {
        if (operation.kind != Kind::Create && operation.kind != Kind::Update) continue;
        writers[operation.value] = &operation;
        if (operation.outcome != Outcome::Done) continue;
        const auto type = operation.kind == Kind::Create ? WatchEvent::Type::Added : WatchEvent::Type::Modified;
        writes[operation.revision] = {type, operation.key, operation.value, operation.revision};
    }
    for (const Watch& watch : history.watches) {
        if (std::string wrong = find_wrong_event(watch, writers); !wrong.empty()) return wrong;
        for (const WatchEvent& event : watch.events) writes.try_emplace(event.revision, event);
    }
    for (const Watch& watch : history.watches) {
        if (std::string wrong = find_missing_event(watch, writes); !wrong.empty()) return wrong;
        for (const List& list : history.lists) {
            if (std::string wrong = find_difference(watch, list); !wrong.empty()) return wrong;
        }
    }
    return "";
}

}  // namespace

std::string find_violation(const History& history) {
    if (std::string wrong = find_step_back(history); !wrong.empty()) return wrong;
    if (std::string wrong = find_wrong_watch(history); !wrong.empty()) return wrong;
    std::map<std::string, std::vector<const Operation*>> by_key;
    for (const Operation& operation : history.operations) by_key[operation.key].push_back(&operation);
    for (auto& [key, operations] : by_key) {
        // What may not have happened and changed nothing says nothing.
        std::erase_if(operations, [](const Operation* one) { return one->outcome == Outcome::Unknown && !is_write(*one); });
        if (operations.empty()) continue;
        if (std::string wrong = Search(std::move(operations)).violation(); !wrong.empty()) return wrong;
    }
    return "";
}

}  // namespace porthole::linearizability
