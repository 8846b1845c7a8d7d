// Random histories against a model that is too simple to be wrong: one map for every revision.
#include <algorithm>
#include <map>

#include "store/store_fixture.h"

namespace porthole::store {
namespace {

struct Cell {
    std::string value;
    std::uint64_t created = 0, modified = 0;
    bool operator==(const Cell&) const = default;
};
using State = std::map<std::string, Cell>;

/// A text that similar values share, long enough for them to be packed.
std::string numbers() {
    std::string text;
    for (int i = 0; i < 100; ++i) text += " " + std::to_string(i);
    return text;
}

struct ModelTest : StoreTest, testing::WithParamInterface<int> {
    struct Reader {
        Watch watch;
        std::string prefix;
        std::uint64_t after;
        std::string seen;
    };

    ModelTest() : random_(static_cast<std::uint64_t>(GetParam())) {
        options_.keep_events = 60;
        options_.whole_bytes = random_.pick(1, "ab") == "a" ? 0 : 2000;
        states_.push_back({});
    }

    std::string random_key() { return "/" + random_.pick(1, "pq") + "/" + random_.pick(1, "abcd"); }

    Transaction random_transaction() {
        Transaction transaction;
        std::map<std::string, bool> keys;
        for (std::uint64_t i = 0; i <= random_.below(3); ++i) keys[random_key()] = random_.below(3) > 0;
        for (const auto& [key, is_put] : keys) {
            if (is_put) {
                Put put = put_of(key, "v" + std::to_string(random_.below(1000)) + (random_.below(2) ? numbers() : "") + "@");
                put.revision_at = static_cast<std::uint32_t>(put.value.size());
                transaction.operations.push_back(put);
            } else {
                transaction.operations.push_back(Delete{key});
            }
            const RecordPtr record = store_->get(key);
            const std::uint64_t choice = random_.below(4);
            if (choice == 0) transaction.guards.push_back(Guard::absent(key));
            if (choice == 1 && record) transaction.guards.push_back(Guard::unchanged(key, record->modified));
        }
        return transaction;
    }

    static bool holds(const Guard& guard, const State& state) {
        const auto found = state.find(guard.key);
        if (guard.kind == Guard::Kind::Absent) return found == state.end();
        return found != state.end() && (guard.kind == Guard::Kind::Present || found->second.modified == guard.modified.value);
    }

    void apply(const Transaction& transaction, const Committed& committed) {
        State state = states_.back();
        for (const Guard& guard : transaction.guards) EXPECT_TRUE(holds(guard, state)) << guard.key;
        const std::uint64_t revision = states_.size();
        bool changed = false;
        std::string events;
        for (const Operation& operation : transaction.operations) {
            if (const Put* put = std::get_if<Put>(&operation)) {
                Cell& cell = state[put->key];
                cell = {put->value + std::to_string(revision), cell.created ? cell.created : revision, revision};
                events_[revision].push_back(put->key + "=" + cell.value);
                changed = true;
            } else if (const auto& key = std::get<Delete>(operation).key; state.contains(key)) {
                const std::string& last = state[key].value;
                events_[revision].push_back("-" + key + "=" + last.substr(0, last.find('@') + 1) + std::to_string(revision));
                state.erase(key);
                changed = true;
            }
        }
        if (!changed) return;
        EXPECT_EQ(committed.revision, Revision(revision));
        states_.push_back(std::move(state));
    }

    static Task<std::vector<Result<Committed>>> wait_all(AllOperation<Committed>& all) { co_return co_await all; }

    void write() {
        std::vector<Transaction> transactions;
        std::vector<Task<Committed>> tasks;
        for (std::uint64_t i = 0; i <= random_.below(6); ++i) {
            transactions.push_back(random_transaction());
            tasks.push_back(store_->commit(transactions.back()));
        }
        AllOperation<Committed> all(std::move(tasks));
        const auto results = run(wait_all(all));
        ASSERT_TRUE(results);
        // What changed nothing was decided after the change whose revision it reports.
        std::multimap<std::pair<Revision, bool>, std::size_t> order;
        for (std::size_t i = 0; i < transactions.size(); ++i) {
            const auto& result = (*results)[i];
            if (result) order.insert({{result->revision, std::ranges::all_of(result->events, [](const EventPtr& e) { return !e; })}, i});
        }
        for (const auto& [place, i] : order) apply(transactions[i], *(*results)[i]);
        ASSERT_EQ(store_->revision().value, states_.size() - 1);
    }

    State state_at(Revision revision) {
        const auto range = store_->range({.prefix = "/", .revision = revision});
        EXPECT_TRUE(range);
        State state;
        for (const RecordPtr& record : range->records) {
            state[record->key] = {*record->value.bytes(), record->created.value, record->modified.value};
        }
        return state;
    }

    void read() {
        EXPECT_EQ(state_at(Revision()), states_.back());
        const std::uint64_t oldest = std::max<std::uint64_t>(store_->compacted().value, 1);
        if (oldest >= states_.size()) return;
        const std::uint64_t revision = oldest + random_.below(states_.size() - oldest);
        EXPECT_EQ(state_at(Revision(revision)), states_[revision]) << "at " << revision;
    }

    void watch() {
        if (readers_.size() > 8) readers_.erase(readers_.begin());
        const std::string prefix = random_.below(2) ? "/" + random_.pick(1, "pq") + "/" : random_key();
        const std::uint64_t oldest = store_->compacted().value;
        const std::uint64_t after = oldest + random_.below(states_.size() - oldest);
        auto watch = store_->watch({prefix, Revision(after), ""});
        ASSERT_TRUE(watch);
        readers_.push_back({std::move(*watch), prefix, after, ""});
    }

    std::string expected(const Reader& reader, std::uint64_t up_to) {
        std::string text;
        for (auto i = events_.upper_bound(reader.after); i != events_.end() && i->first <= up_to; ++i) {
            for (const std::string& event : i->second) {
                const std::string key = event.substr(event[0] == '-', event.find('=') - (event[0] == '-'));
                const bool matches = reader.prefix.ends_with('/') ? key.starts_with(reader.prefix) : key == reader.prefix;
                if (matches) text += event + "\n";
            }
        }
        return text;
    }

    void drain(Reader& reader) {
        for (;;) {
            const auto events = sim::run(loop_, reader.watch.next(1 + random_.below(20)), 1ms);
            if (!events) {
                if (events.error().reason == Reason::Expired) return;
                break;
            }
            for (const EventPtr& event : *events) {
                reader.seen +=
                    (event->type == Event::Type::Delete ? "-" : "") + event->record->key + "=" + *event->record->value.bytes() + "\n";
            }
        }
        ASSERT_EQ(reader.watch.revision().value, states_.size() - 1);
        ASSERT_EQ(reader.seen, expected(reader, states_.size() - 1)) << reader.prefix << " after " << reader.after;
    }

    void restart(bool crash) {
        readers_.clear();
        close();
        if (crash) backing_->crash(random_);
        open();
        ASSERT_EQ(store_->revision().value, states_.size() - 1);
    }

    SeededRandom random_;
    std::vector<State> states_;  // by revision
    std::map<std::uint64_t, std::vector<std::string>> events_;
    std::vector<Reader> readers_;
};

TEST_P(ModelTest, TheStoreIsItsModel) {
    for (int step = 0; step < 400 && !HasFatalFailure(); ++step) {
        SCOPED_TRACE("seed " + std::to_string(GetParam()) + " step " + std::to_string(step));
        switch (random_.below(12)) {
            case 0:
                watch();
                break;
            case 1:
                if (!readers_.empty()) drain(readers_[random_.below(readers_.size())]);
                break;
            case 2:
                loop_.advance(std::chrono::seconds(random_.below(90)));
                break;
            case 3:
                if (random_.below(8) == 0) restart(random_.below(2) == 0);
                break;
            case 4:
                if (random_.below(3) == 0) backing_->disturb(random_);
                break;
            default:
                write();
                break;
        }
        read();
    }
    for (Reader& reader : readers_) drain(reader);
    readers_.clear();
}

INSTANTIATE_TEST_SUITE_P(Seeds, ModelTest, testing::Range(1, 21));

}  // namespace
}  // namespace porthole::store
