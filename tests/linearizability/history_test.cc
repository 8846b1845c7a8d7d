#include "linearizability/history.h"

#include <gtest/gtest.h>

namespace porthole::linearizability {
namespace {

using Kind = Operation::Kind;
using Outcome = Operation::Outcome;
using Type = WatchEvent::Type;

Operation create(Moment from, Moment to, std::string value, std::uint64_t revision) {
    return {.kind = Kind::Create,
            .key = "k",
            .invoked = from,
            .returned = to,
            .value = std::move(value),
            .outcome = Outcome::Done,
            .revision = revision};
}
Operation update(Moment from, Moment to, std::uint64_t expected, std::string value, std::uint64_t revision) {
    Operation operation = create(from, to, std::move(value), revision);
    operation.kind = Kind::Update;
    operation.expected = expected;
    return operation;
}
Operation get(Moment from, Moment to, std::string value, std::uint64_t revision) {
    Operation operation = create(from, to, std::move(value), revision);
    operation.kind = Kind::Get;
    return operation;
}
Operation remove(Moment from, Moment to) {
    return {.kind = Kind::Delete, .key = "k", .invoked = from, .returned = to, .value = {}, .outcome = Outcome::Done};
}
Operation refused(Operation operation, Outcome outcome) {
    operation.outcome = outcome;
    operation.revision = 0;
    return operation;
}
Operation unanswered(Operation operation) {
    operation.returned = Never;
    return refused(std::move(operation), Outcome::Unknown);
}

TEST(LinearizableHistory, IsAccepted) {
    struct {
        const char* name;
        std::vector<Operation> operations;
    } const rows[] = {
        {"one after another", {create(1, 2, "a", 1), update(3, 4, 1, "b", 2), get(5, 6, "b", 2), remove(7, 8), create(9, 10, "c", 4)}},
        {"a read at the same time sees the old value",
         {create(1, 2, "a", 1), update(3, 9, 1, "b", 2), get(4, 5, "a", 1), get(6, 7, "b", 2)}},
        {"a read at the same time sees the new value", {create(1, 2, "a", 1), update(3, 9, 1, "b", 2), get(4, 5, "b", 2)}},
        {"one of two with the same condition",
         {create(1, 2, "a", 1), update(3, 6, 1, "b", 2), refused(update(4, 5, 1, "c", 0), Outcome::Conflict)}},
        {"without an answer it happened",
         {create(1, 2, "a", 1), unanswered(update(3, 0, 1, "b", 0)), get(4, 5, "a", 1), get(6, 7, "b", 2)}},
        {"without an answer it did not happen", {create(1, 2, "a", 1), unanswered(update(3, 0, 1, "b", 0)), get(4, 5, "a", 1)}},
        {"without an answer it was deleted", {create(1, 2, "a", 1), unanswered(remove(3, 0)), refused(get(4, 5, "", 0), Outcome::Absent)}},
    };
    for (const auto& row : rows) EXPECT_EQ(find_violation({.operations = row.operations, .lists = {}, .watches = {}}), "") << row.name;
}

TEST(LinearizableHistory, ExcludesWhatNoOrderExplains) {
    struct {
        const char* name;
        std::vector<Operation> operations;
    } const rows[] = {
        {"a stale read", {create(1, 2, "a", 1), update(3, 4, 1, "b", 2), get(5, 6, "a", 1)}},
        {"a read that goes back", {create(1, 2, "a", 1), update(3, 9, 1, "b", 2), get(4, 5, "b", 2), get(6, 7, "a", 1)}},
        {"two with the same condition", {create(1, 2, "a", 1), update(3, 6, 1, "b", 2), update(4, 5, 1, "c", 3)}},
        {"a lost write", {create(1, 2, "a", 1), refused(get(3, 4, "", 0), Outcome::Absent)}},
        {"a deleted object is back", {create(1, 2, "a", 1), remove(3, 4), get(5, 6, "a", 1)}},
        {"what nobody wrote", {create(1, 2, "a", 1), get(3, 4, "b", 2)}},
        {"a revision that is used again", {create(1, 2, "a", 5), remove(3, 4), create(5, 6, "b", 5)}},
        {"a revision that goes back", {create(1, 2, "a", 5), remove(3, 4), create(5, 6, "b", 3)}},
    };
    for (const auto& row : rows) EXPECT_NE(find_violation({.operations = row.operations, .lists = {}, .watches = {}}), "") << row.name;
}

History watched(std::vector<WatchEvent> events) {
    return {.operations = {create(1, 2, "a", 1), update(3, 4, 1, "b", 2), remove(5, 6), create(7, 8, "c", 4)},
            .lists = {{.invoked = 9, .returned = 10, .revision = 4, .objects = {{"k", {"c", 4}}}}},
            .watches = {{.from = 0, .initial = {}, .events = std::move(events), .to = 4}}};
}

TEST(LinearizableHistory, WatchesShowEveryEventOnceAndInOrder) {
    const WatchEvent a{Type::Added, "k", "a", 1}, b{Type::Modified, "k", "b", 2}, gone{Type::Deleted, "k", "b", 3},
        c{Type::Added, "k", "c", 4};
    EXPECT_EQ(find_violation(watched({a, b, gone, c})), "");
    struct {
        const char* name;
        std::vector<WatchEvent> events;
    } const rows[] = {
        {"a missing update", {a, gone, c}},     {"a missing deletion", {a, b, c}},
        {"a missing last event", {a, b, gone}}, {"twice", {a, b, b, gone, c}},
        {"out of order", {b, a, gone, c}},      {"another value", {a, {Type::Modified, "k", "x", 2}, gone, c}},
    };
    for (const auto& row : rows) EXPECT_NE(find_violation(watched(row.events)), "") << row.name;
}

TEST(LinearizableHistory, ListsShowWhatWatchesHaveShown) {
    History history =
        watched({{Type::Added, "k", "a", 1}, {Type::Modified, "k", "b", 2}, {Type::Deleted, "k", "b", 3}, {Type::Added, "k", "c", 4}});
    history.lists.push_back({.invoked = 3, .returned = 4, .revision = 2, .objects = {{"k", {"a", 1}}}});
    EXPECT_NE(find_violation(history), "");
    history.lists.back() = {.invoked = 11, .returned = 12, .revision = 3, .objects = {}};
    EXPECT_NE(find_violation(history), "") << "older than what was written before";
}

}  // namespace
}  // namespace porthole::linearizability
