#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace porthole::linearizability {

/// A moment of a history: what is less came first. Moments of all clients are of one clock.
using Moment = std::uint64_t;
constexpr Moment Never = UINT64_MAX;

/// One request of a client about one key, and what it was told.
struct Operation {
    enum class Kind { Create, Update, Delete, Get };
    enum class Outcome {
        Done,
        Absent,    ///< there is no such key
        Exists,    ///< there is one already
        Conflict,  ///< it is not of the revision `expected`
        Unknown,   ///< no answer came: it may have happened, or still happen
    };
    int client = 0;
    Kind kind = Kind::Get;
    std::string key;
    Moment invoked = 0, returned = Never;
    std::uint64_t expected = 0;  ///< a condition on the key's revision; 0 for none
    std::string value;           ///< that is written, different in every operation; of Get, that was read
    Outcome outcome = Outcome::Unknown;
    std::uint64_t revision = 0;  ///< of the object in the answer; 0 where there is none
};

struct Object {
    std::string value;
    std::uint64_t revision = 0;
    bool operator==(const Object&) const = default;
};
using Objects = std::map<std::string, Object>;

/// All keys at once.
struct List {
    int client = 0;
    Moment invoked = 0, returned = 0;
    std::uint64_t revision = 0;
    Objects objects;
};

struct WatchEvent {
    enum class Type { Added, Modified, Deleted };
    Type type = Type::Added;
    std::string key, value;
    std::uint64_t revision = 0;
};

/// What one watcher was shown after it had listed, over as many connections as it took.
struct Watch {
    std::uint64_t from = 0;  ///< the list's revision
    Objects initial;         ///< the list
    std::vector<WatchEvent> events;
    std::uint64_t to = 0;  ///< everything up to here has been shown
};

struct History {
    std::vector<Operation> operations;
    std::vector<List> lists;
    std::vector<Watch> watches;
};

/// What is wrong with the history, or "" when there is an order of all operations, each between its request and its answer, that explains
/// every answer (linearizability), and in addition
///   - resourceVersions follow that order: what began after an answer has none that is less;
///   - every watch shows each write exactly once, in order of revision, and the lists made meanwhile.
/// Keys are looked at one by one, as each is a register of its own (after Wing and Gong, with a memory of the states that were seen).
std::string find_violation(const History& history);

}  // namespace porthole::linearizability
