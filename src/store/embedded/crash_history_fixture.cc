#include "store/embedded/crash_history_fixture.h"

#include <algorithm>
#include <map>

#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"
#include "store/embedded/crash_disk_fixture.h"
#include "store/embedded/embedded_engine.h"
#include "store/embedded/turns_pool_fixture.h"
#include "store/store.h"

namespace porthole::store {
namespace {

using namespace std::chrono_literals;

constexpr Duration LongestLease = 40s;
constexpr std::size_t Steps = 60;
constexpr std::size_t PointsOfGeneration = 30;

/// Transactions that went to the engine together.
using Group = std::vector<Commit>;

/// What the engine has been told and what it has answered.
struct Ledger {
    std::map<Revision, std::vector<Row>> acknowledged;
    /// Since the last append that was acknowledged: those that failed, and the one on its way. One of them may be found, whole.
    std::vector<Group> open;
    std::size_t compactions = 0, checkpoints = 0;
    bool appending = false, compacting = false, checkpointing = false;  ///< calls of the engine that have not ended
    bool overlapping = false;                                           ///< whether one was called a second time before it had ended

    Revision newest() const { return acknowledged.empty() ? Revision() : acknowledged.rbegin()->first; }
    void acknowledge(const Group& group) {
        for (const Commit& commit : group) acknowledged[commit.rows.front().revision] = commit.rows;
        open.clear();
    }
};

/// Writes down what passes between the store and `engine`.
class LedgerEngine final : public Engine {
public:
    LedgerEngine(std::unique_ptr<Engine> engine, Ledger& ledger) : engine_(std::move(engine)), ledger_(ledger) {}
    Result<Revision> load(const std::function<void(Row)>& visit) override { return engine_->load(visit); }
    Result<void> append(std::span<const Commit> commits) override {
        const Group group(commits.begin(), commits.end());
        ledger_.open.push_back(group);
        const InProgress call(ledger_, ledger_.appending);
        TRY_VOID(engine_->append(commits));
        ledger_.acknowledge(group);
        return {};
    }
    Result<void> compact(Revision compacted, std::span<const Row> superseded) override {
        const InProgress call(ledger_, ledger_.compacting);
        TRY_VOID(engine_->compact(compacted, superseded));
        ++ledger_.compactions;
        return {};
    }
    bool checkpoint_due() const override { return engine_->checkpoint_due(); }
    void checkpoint() override {
        const InProgress call(ledger_, ledger_.checkpointing);
        engine_->checkpoint();
        ++ledger_.checkpoints;
    }
    void close() override { engine_->close(); }

private:
    class InProgress {
    public:
        InProgress(Ledger& ledger, bool& call) : call_(call) { ledger.overlapping |= std::exchange(call_, true); }
        ~InProgress() { call_ = false; }

    private:
        bool& call_;
    };

    std::unique_ptr<Engine> engine_;
    Ledger& ledger_;
};

/// What the machine finds after a crash, and what was known when it came.
struct CrashPoint {
    CrashDisk disk;
    Revision acknowledged;
    std::vector<Group> open;
};

struct Cell {
    std::string value;
    Revision created, modified;
    LeaseId lease;
    bool operator==(const Cell&) const = default;
};
using State = std::map<std::string, Cell>;

std::string finished_value(const Row& row) {
    std::string value = row.value;
    if (row.revision_at) value.insert(*row.revision_at, to_string(row.revision));
    return value;
}

void apply(const Row& row, State& state) {
    if (row.deleted) {
        state.erase(row.key);
    } else {
        state[row.key] = {finished_value(row), row.created, row.revision, row.lease};
    }
}

/// The first difference between two states, in words.
std::string difference(const State& wanted, const State& found) {
    for (const auto& [key, cell] : wanted) {
        const auto other = found.find(key);
        if (other == found.end()) return key + " of revision " + to_string(cell.modified) + " is missing";
        if (!(other->second == cell)) {
            if (other->second.modified == cell.modified) return key + " of revision " + to_string(cell.modified) + " is another one";
            return key + " is of revision " + to_string(other->second.modified) + " instead of " + to_string(cell.modified);
        }
    }
    for (const auto& [key, cell] : found) {
        if (!wanted.contains(key)) return key + " of revision " + to_string(cell.modified) + " is back";
    }
    return "";
}

Task<std::vector<Result<Committed>>> wait_all(AllOperation<Committed>& all) { co_return co_await all; }

/// A store on a loop of its own, for as long as one process would live.
class Process {
public:
    Process(CrashFileSystem& system, const std::string& directory, const EngineWrapper& wrap, Ledger* ledger)
        : system_(system), pool_(loop, system.random()) {
        system_.between = [this] { pool_.pause(); };
        // Some copy the log after each write, and some leave it to the writer.
        const auto checkpoint_length = static_cast<std::int64_t>(system.random().below(300'000));
        auto engine =
            open_embedded_engine(directory, {.checkpoint_length = checkpoint_length, .restart_length = 250'000, .reserved_ahead = 20'000});
        if (!engine) {
            error_ = engine.error().message;
            return;
        }
        if (wrap) *engine = wrap(std::move(*engine));
        if (ledger) *engine = std::make_unique<LedgerEngine>(std::move(*engine), *ledger);
        Store::Options options;
        options.compaction_rows = 3;
        options.keep_events = 150;
        auto store = Store::open({loop, pool_, Logger(make_null_sink(), "store")}, std::move(*engine), {}, options);
        if (store) {
            store_ = std::move(*store);
        } else {
            error_ = store.error().message;
        }
    }
    ~Process() {
        if (store_) {
            CHECK(sim::run(loop, store_->close()).has_value());
            loop.run_ready();
        }
        system_.between = {};
    }
    Process(const Process&) = delete;

    /// "" when the store is open.
    const std::string& error() const { return error_; }
    Store* operator->() { return store_.get(); }
    template <class T>
    Result<T> run(Task<T> task) {
        return sim::run(loop, std::move(task));
    }
    State state_at(Revision revision) {
        State state;
        const auto range = store_->range({.prefix = "/", .revision = revision});
        if (!range) return {{"(" + range.error().message + ")", {}}};
        for (const RecordPtr& record : range->records) {
            state[record->key] = {*record->value.bytes(), record->created, record->modified, record->lease};
        }
        return state;
    }

    sim::SimLoop loop;

private:
    CrashFileSystem& system_;
    TurnsPool pool_;
    std::unique_ptr<Store> store_;
    std::string error_;
};

/// Compares one reopened store with the ledger.
class Comparison {
public:
    Comparison(const Ledger& ledger, const CrashPoint& point, Random& random) : ledger_(ledger), point_(point), random_(random) {}

    /// What is wrong, or "".
    std::string find(Process& process);
    /// The group that was found although it was not acknowledged; null for none.
    const Group* extra() const { return extra_; }

private:
    /// Which of the groups that were not acknowledged is there.
    std::string identify(Process& process);
    std::string compare_states(Process& process, Revision revision) const;
    std::string compare_events(Process& process);
    std::string write_on(Process& process);
    std::string outlive_leases(Process& process);
    template <class Visit>
    void visit_rows(Revision up_to, Visit visit) const;

    const Ledger& ledger_;
    const CrashPoint& point_;
    Random& random_;
    const Group* extra_ = nullptr;
};

/// All that should be there, in order.
template <class Visit>
void Comparison::visit_rows(Revision up_to, Visit visit) const {
    for (const auto& [revision, rows] : ledger_.acknowledged) {
        if (revision > std::min(up_to, point_.acknowledged)) break;
        for (const Row& row : rows) visit(row);
    }
    if (!extra_) return;
    for (const Commit& commit : *extra_) {
        if (commit.rows.front().revision > up_to) break;
        for (const Row& row : commit.rows) visit(row);
    }
}

std::string Comparison::identify(Process& process) {
    const Revision found = process->revision();
    if (found < point_.acknowledged) {
        return "the revision went back from " + to_string(point_.acknowledged) + " to " + to_string(found);
    }
    if (found == point_.acknowledged) return compare_states(process, found);
    std::string wrong = "revision " + to_string(found) + " was never asked for whole; acknowledged was " + to_string(point_.acknowledged);
    for (const Group& group : point_.open) {
        if (group.back().rows.front().revision != found) continue;
        extra_ = &group;
        wrong = compare_states(process, found);
        if (wrong.empty()) break;
    }
    return wrong;
}

std::string Comparison::compare_states(Process& process, Revision revision) const {
    if (revision == Revision()) return "";
    State wanted;
    visit_rows(revision, [&](const Row& row) { apply(row, wanted); });
    const std::string found = difference(wanted, process.state_at(revision));
    return found.empty() ? "" : "at revision " + to_string(revision) + ": " + found;
}

std::string Comparison::compare_events(Process& process) {
    const Revision from = process->compacted(), to = process->revision();
    State state;
    std::vector<std::string> wanted, found;
    visit_rows(to, [&](const Row& row) {
        const bool shown = row.revision > from && (!row.deleted || state.contains(row.key));
        if (shown) wanted.push_back((row.deleted ? "-" : "+") + row.key + "@" + to_string(row.revision));
        apply(row, state);
    });
    auto watch = process->watch({.prefix = "/", .after = from});
    if (!watch) return "watching from the compacted revision fails: " + watch.error().message;
    while (found.size() < wanted.size()) {
        const auto events = sim::run(process.loop, watch->next(), 1ms);
        if (!events) break;
        for (const EventPtr& event : *events) {
            found.push_back((event->type == Event::Type::Delete ? "-" : "+") + event->record->key + "@" + to_string(event->revision));
        }
    }
    const auto [a, b] = std::ranges::mismatch(wanted, found);
    if (a == wanted.end() && b == found.end()) return "";
    return "a watch from revision " + to_string(from) + " shows " + (b == found.end() ? "nothing" : *b) + " instead of " +
           (a == wanted.end() ? "nothing" : *a);
}

std::string Comparison::write_on(Process& process) {
    const Revision before = process->revision();
    const auto written = process.run(process->commit({{}, {Put{.key = "/after", .value = "x"}}}));
    if (!written) return "cannot be written: " + written.error().message;
    return written->revision == before.next() ? "" : "the next write has revision " + to_string(written->revision);
}

std::string Comparison::outlive_leases(Process& process) {
    State wanted = process.state_at(Revision());
    std::erase_if(wanted, [](const auto& entry) { return entry.second.lease || entry.first.starts_with("/porthole/leases/"); });
    process.loop.advance(LongestLease + 1s);
    const std::string found = difference(wanted, process.state_at(Revision()));
    return found.empty() ? "" : "after all leases: " + found;
}

std::string Comparison::find(Process& process) {
    if (!process.error().empty()) return "it cannot be opened: " + process.error();
    const Revision from = process->compacted(), to = process->revision();
    std::string wrong = identify(process);
    if (wrong.empty() && from > point_.acknowledged) wrong = "it is compacted beyond what was acknowledged";
    if (wrong.empty()) wrong = compare_states(process, from);
    if (wrong.empty()) wrong = compare_states(process, Revision(from.value + random_.below(to.value - from.value + 1)));
    if (wrong.empty()) wrong = compare_events(process);
    if (wrong.empty()) wrong = write_on(process);
    if (wrong.empty()) wrong = outlive_leases(process);
    return wrong;
}

/// One history: generations of a process on one disk, each of which ends with a power failure.
class CrashHistory {
public:
    CrashHistory(std::uint64_t seed, std::string directory, EngineWrapper wrap)
        : random_(seed), directory_(std::move(directory)), wrap_(std::move(wrap)) {}

    CrashRun run(std::size_t points);

private:
    void generation();
    std::string compare(const CrashPoint& point, std::size_t number);
    void go_on_from(const CrashPoint& point);
    void take_point();
    bool fails();

    void step(Process& process);
    void write(Process& process);
    void grant(Process& process);
    void revoke(Process& process);
    void compact(Process& process);
    Transaction random_transaction(Process& process);
    void check_acknowledgement(const Committed& committed);
    std::string random_key() { return "/" + random_.pick(1, "pq") + "/" + random_.pick(1, "abcd"); }

    SeededRandom random_;
    CrashFileSystem system_{random_};
    std::string directory_;
    EngineWrapper wrap_;
    Ledger ledger_;
    std::vector<LeaseId> leases_;
    std::vector<CrashPoint> points_;
    std::uint64_t one_in_ = 1;          ///< how often a call becomes a crash point
    std::uint64_t failing_one_in_ = 0;  ///< how often a call fails; 0: never
    CrashRun result_;
};

void CrashHistory::take_point() {
    if (points_.size() >= PointsOfGeneration || random_.below(one_in_) != 0) return;
    if (ledger_.checkpointing && ledger_.appending) ++result_.during_checkpoint_and_write;
    if (ledger_.checkpointing && ledger_.compacting) ++result_.during_checkpoint_and_compaction;
    points_.push_back({system_.disk().after_power_failure(random_), ledger_.newest(), ledger_.open});
}

bool CrashHistory::fails() {
    if (failing_one_in_ == 0 || random_.below(failing_one_in_) != 0) return false;
    ++result_.failures;
    return true;
}

Transaction CrashHistory::random_transaction(Process& process) {
    Transaction transaction;
    std::map<std::string, bool> keys;
    for (std::uint64_t i = 0; i <= random_.below(3); ++i) keys[random_key()] = random_.below(3) > 0;
    for (const auto& [key, is_put] : keys) {
        const RecordPtr record = process->get(key);
        if (record && random_.below(3) == 0) transaction.guards.push_back(Guard::unchanged(key, record->modified));
        if (!is_put) {
            transaction.operations.push_back(Delete{key});
            continue;
        }
        Put put{.key = key, .value = random_.pick(random_.below(random_.below(8) ? 200 : 9000), "xyz"), .revision_at = {}, .lease = {}};
        if (random_.below(2)) put.revision_at = static_cast<std::uint32_t>(random_.below(put.value.size() + 1));
        if (!leases_.empty() && random_.below(3) == 0) put.lease = leases_[random_.below(leases_.size())];
        transaction.operations.push_back(std::move(put));
    }
    return transaction;
}

/// What a client is told must be what the engine has answered for.
void CrashHistory::check_acknowledgement(const Committed& committed) {
    for (const EventPtr& event : committed.events) {
        if (!event) continue;
        const auto found = ledger_.acknowledged.find(event->revision);
        const bool known = found != ledger_.acknowledged.end() && std::ranges::any_of(found->second, [&](const Row& row) {
                               return row.key == event->record->key && row.deleted == (event->type == Event::Type::Delete) &&
                                      (row.deleted || finished_value(row) == *event->record->value.bytes());
                           });
        if (!known) result_.violation = "revision " + to_string(event->revision) + " was acknowledged before it was written";
    }
}

void CrashHistory::write(Process& process) {
    std::vector<Task<Committed>> tasks;
    for (std::uint64_t i = 0; i <= random_.below(4); ++i) tasks.push_back(process->commit(random_transaction(process)));
    AllOperation<Committed> all(std::move(tasks));
    const auto results = process.run(wait_all(all));
    CHECK(results.has_value());
    for (const Result<Committed>& result : *results) {
        if (result) check_acknowledgement(*result);
    }
}

void CrashHistory::grant(Process& process) {
    const auto lease = process.run(process->grant_lease(std::chrono::seconds(1 + random_.below(LongestLease / 1s))));
    if (lease) leases_.push_back(*lease);
}

void CrashHistory::revoke(Process& process) {
    if (leases_.empty()) return;
    const LeaseId lease = leases_[random_.below(leases_.size())];
    // Somebody may write with the lease at the same moment.
    Task<Committed> writing = process->commit(random_transaction(process));
    Scope scope(process.loop);
    const auto revoking = [](Store& store, LeaseId id) -> Task<> { co_return co_await store.revoke_lease(id); };
    scope.spawn(revoking(*process.operator->(), lease));
    (void)process.run(std::move(writing)).has_value();
    process.loop.run_ready();
    CHECK(process.run(scope.close()).has_value());
}

void CrashHistory::compact(Process& process) {
    const std::uint64_t newest = process->revision().value;
    const std::uint64_t back = random_.below(std::min<std::uint64_t>(newest, 8) + 1);
    (void)process.run(process->compact(Revision(newest - back))).has_value();
}

void CrashHistory::step(Process& process) {
    switch (random_.below(14)) {
        case 0:
            return grant(process);
        case 1:
            return revoke(process);
        case 2:
            return process.loop.advance(std::chrono::seconds(random_.below(15)));
        case 3:
            return compact(process);
        default:
            return write(process);
    }
}

void CrashHistory::generation() {
    points_.clear();
    leases_.clear();
    one_in_ = 4 + random_.below(20);
    failing_one_in_ = random_.below(2) ? 0 : 30 + random_.below(300);
    system_.changing = [this] { take_point(); };
    system_.fails = [this](CrashFileSystem::Call) { return fails(); };
    {
        std::optional<Process> process;
        for (process.emplace(system_, directory_, wrap_, &ledger_); !process->error().empty();
             process.emplace(system_, directory_, wrap_, &ledger_)) {
            if (failing_one_in_ == 0) {
                result_.violation = "it cannot be opened: " + process->error();
                break;
            }
            failing_one_in_ = 0;
        }
        for (std::size_t i = 0; i < Steps && result_.violation.empty(); ++i) {
            step(*process);
            if (i % (Steps / 3) == Steps / 4) compact(*process);
            if (ledger_.overlapping) result_.violation = "the store calls a function of the engine that has not returned yet";
        }
        one_in_ = 1;
        points_.resize(std::min(points_.size(), PointsOfGeneration - 1));
        take_point();
        one_in_ = 3;  // the end of a process, too, can be cut
        if (random_.below(2)) points_.resize(std::min(points_.size(), PointsOfGeneration / 2));
    }
    system_.changing = {};
    system_.fails = {};
}

std::string CrashHistory::compare(const CrashPoint& point, std::size_t number) {
    CrashPoint copy{point.disk.after_power_failure(random_), point.acknowledged, point.open};
    system_.insert(copy.disk);
    Comparison comparison(ledger_, point, random_);
    std::string wrong;
    {
        Process process(system_, directory_, wrap_, nullptr);
        wrong = comparison.find(process);
    }
    ++result_.points;
    if (comparison.extra()) ++result_.recoveries;
    return wrong.empty() ? "" : "crash point " + std::to_string(number) + ": " + wrong;
}

/// The machine starts again with what this crash has left.
void CrashHistory::go_on_from(const CrashPoint& point) {
    const CrashDisk disk = point.disk.after_power_failure(random_);
    system_.insert(disk.after_power_failure(random_));
    Comparison comparison(ledger_, point, random_);
    {
        Process process(system_, directory_, wrap_, nullptr);
        (void)comparison.find(process);
    }
    ledger_.acknowledged.erase(ledger_.acknowledged.upper_bound(point.acknowledged), ledger_.acknowledged.end());
    if (comparison.extra()) {
        const Group found = *comparison.extra();
        ledger_.acknowledge(found);
    }
    ledger_.open.clear();
    system_.insert(disk);
}

CrashRun CrashHistory::run(std::size_t points) {
    while (result_.points < points && result_.violation.empty()) {
        generation();
        for (std::size_t i = 0; i < points_.size() && result_.points < points && result_.violation.empty(); ++i) {
            result_.violation = compare(points_[i], result_.points);
        }
        if (result_.violation.empty() && result_.points < points) {
            const CrashPoint chosen = points_[random_.below(points_.size())];
            go_on_from(chosen);
        }
    }
    result_.compactions = ledger_.compactions;
    return result_;
}

}  // namespace

CrashRun run_crash_history(std::uint64_t seed, std::size_t points, const std::string& directory, const EngineWrapper& wrap) {
    return CrashHistory(seed, directory, wrap).run(points);
}

}  // namespace porthole::store
