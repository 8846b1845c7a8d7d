// Engines with defects that etcd has had, to see that the check of crash points finds them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "store/embedded/crash_history_fixture.h"
#include "store/embedded/sqlite.h"
#include "store/lease_table.h"

namespace porthole::store {
namespace {

enum class Fault {
    None,
    RevisionGoesBack,      ///< a compaction removes the newest row, a deletion, and does not remember its revision (etcd #17780)
    AcknowledgedEarly,     ///< a write is acknowledged before it is on disk (etcd #14370)
    DroppedDeletion,       ///< a start leaves out a deletion after the compacted revision, so that no watch shows it (etcd #18089, #19179)
    ImmortalLease,         ///< a start forgets which lease a key belongs to, so that it never ends (etcd #9935, #11369)
    ExpiredLeaseRevived,   ///< a deletion of a lease is not written, so that a restart brings it back (etcd #6102)
    TornTransaction,       ///< what was written together is not kept together (etcd #13766)
    NewestForgottenFirst,  ///< a compaction forgets deletions before what they delete
    UnsyncedCheckpoint     ///< the log starts again before what was copied from it is on disk
};

/// Passes everything on to the real engine, but for its fault.
class FaultyEngine final : public Engine {
public:
    FaultyEngine(std::unique_ptr<Engine> engine, Fault fault, std::string directory)
        : engine_(std::move(engine)), fault_(fault), directory_(std::move(directory)) {}

    Result<Revision> load(const std::function<void(Row)>& visit) override {
        std::vector<Row> rows;
        TRY(const Revision compacted, engine_->load([&](Row row) { rows.push_back(std::move(row)); }));
        bool dropped = fault_ != Fault::DroppedDeletion;
        for (Row& row : rows) {
            // Not the last one: that would be the defect above.
            const bool drop = !dropped && row.deleted && row.revision > compacted && row.revision < rows.back().revision;
            dropped = dropped || drop;
            if (fault_ == Fault::ImmortalLease) row.lease = {};
            if (!drop) visit(std::move(row));
        }
        return compacted;
    }

    Result<void> append(std::span<const Commit> commits) override {
        if (fault_ == Fault::AcknowledgedEarly) {
            // What was acknowledged goes to disk with what comes next.
            std::vector<Commit> late(commits.begin(), commits.end());
            std::swap(late, late_);
            return late.empty() ? Result<void>() : engine_->append(late);
        }
        if (fault_ == Fault::TornTransaction) {
            for (const Commit& commit : commits) {
                for (const Row& row : commit.rows) TRY_VOID(engine_->append(std::vector<Commit>{{commit.guards, {row}}}));
            }
            return {};
        }
        if (fault_ == Fault::ExpiredLeaseRevived) {
            std::vector<Commit> without(commits.begin(), commits.end());
            for (Commit& commit : without) {
                std::erase_if(commit.rows, [](const Row& row) { return row.deleted && row.key.starts_with(LeasePrefix); });
            }
            return engine_->append(without);
        }
        return engine_->append(commits);
    }

    Result<void> compact(Revision compacted, std::span<const Row> superseded) override {
        if (fault_ == Fault::RevisionGoesBack) return engine_->compact(Revision(), superseded);
        if (fault_ == Fault::NewestForgottenFirst) {
            held_.insert(held_.end(), superseded.begin(), superseded.end());
            std::vector<Row> newest;
            for (int i = 0; i < 2 && !held_.empty(); ++i) {
                newest.push_back(held_.back());
                held_.pop_back();
            }
            return engine_->compact(compacted, newest);
        }
        return engine_->compact(compacted, superseded);
    }
    bool checkpoint_due() const override { return engine_->checkpoint_due(); }
    void checkpoint() override {
        if (fault_ != Fault::UnsyncedCheckpoint) return engine_->checkpoint();
        Result<Database> database = Database::open(directory_ + "/store.db");
        if (!database || !database->execute("PRAGMA synchronous=OFF; PRAGMA schema_version;")) return;
        database->checkpoint();
    }
    void close() override { engine_->close(); }

private:
    std::unique_ptr<Engine> engine_;
    Fault fault_;
    std::string directory_;
    std::vector<Commit> late_;
    std::vector<Row> held_;
};

struct Mutant {
    const char* name;
    Fault fault;
};

class StoreMutants : public testing::TestWithParam<Mutant> {
protected:
    static CrashRun run(Fault fault, std::size_t points) {
        std::string directory = testing::TempDir() + "/mutant-XXXXXX";
        EXPECT_NE(::mkdtemp(directory.data()), nullptr);
        const auto wrap = [&](std::unique_ptr<Engine> engine) {
            return std::make_unique<FaultyEngine>(std::move(engine), fault, directory);
        };
        CrashRun found;
        for (std::uint64_t seed = 1; found.points < points && found.violation.empty(); ++seed) {
            const CrashRun one = run_crash_history(seed, 100, directory, wrap);
            found.points += one.points;
            found.violation = one.violation;
        }
        std::filesystem::remove_all(directory);
        return found;
    }
};

TEST_P(StoreMutants, IsCaught) {
    const CrashRun found = run(GetParam().fault, 1000);
    EXPECT_NE(found.violation, "") << GetParam().name << " passed " << found.points << " crash points";
    std::printf("%s: after %zu crash points: %s\n", GetParam().name, found.points, found.violation.c_str());
}

INSTANTIATE_TEST_SUITE_P(
    Faults, StoreMutants,
    testing::Values(Mutant{"RevisionGoesBack", Fault::RevisionGoesBack}, Mutant{"AcknowledgedEarly", Fault::AcknowledgedEarly},
                    Mutant{"DroppedDeletion", Fault::DroppedDeletion}, Mutant{"ImmortalLease", Fault::ImmortalLease},
                    Mutant{"ExpiredLeaseRevived", Fault::ExpiredLeaseRevived}, Mutant{"TornTransaction", Fault::TornTransaction},
                    Mutant{"NewestForgottenFirst", Fault::NewestForgottenFirst}, Mutant{"UnsyncedCheckpoint", Fault::UnsyncedCheckpoint}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(StoreMutants, TheEngineWithoutFaultPassesTheSameCheck) { EXPECT_EQ(run(Fault::None, 200).violation, ""); }

}  // namespace
}  // namespace porthole::store
