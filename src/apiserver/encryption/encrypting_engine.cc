#include "apiserver/encryption/encrypting_engine.h"

#include <algorithm>

namespace porthole::apiserver {
namespace {

using store::Commit;
using store::Revision;
using store::Row;

class EncryptingEngine final : public store::Engine {
public:
    EncryptingEngine(std::unique_ptr<store::Engine> engine, std::shared_ptr<StorageEncryption> encryption)
        : engine_(std::move(engine)), encryption_(std::move(encryption)) {}

    Result<Revision> load(const std::function<void(Row)>& visit) override;
    Result<void> append(std::span<const Commit> commits) override;
    Result<void> compact(Revision compacted, std::span<const Row> superseded) override { return engine_->compact(compacted, superseded); }
    Result<void> check_writable(std::string_view key) const override { return encryption_->check_writable(key); }
    bool is_stale(std::string_view key) const override { return encryption_->is_stale(key); }
    bool checkpoint_due() const override { return engine_->checkpoint_due(); }
    void checkpoint() override { engine_->checkpoint(); }
    void close() override { engine_->close(); }

private:
    struct Written {
        const std::string* key;
        std::optional<EncryptionKeyId> with;
    };
    /// Replaces the row's value by what is stored.
    Result<void> seal(Row& row, std::vector<Written>& written);
    /// What is stored, where it could not be read; its value then says why.
    std::optional<std::string> open(Row& row);

    const std::unique_ptr<store::Engine> engine_;
    const std::shared_ptr<StorageEncryption> encryption_;
};

Result<void> EncryptingEngine::seal(Row& row, std::vector<Written>& written) {
    if (row.deleted) {
        written.push_back({&row.key, std::nullopt});
        return {};
    }
    auto sealed = encryption_->seal(row.key, row.value);
    if (!sealed) return std::move(sealed).error().with_context("encrypting " + row.key);
    row.value = std::move(sealed->bytes);
    written.push_back({&row.key, sealed->key});
    return {};
}

Result<void> EncryptingEngine::append(std::span<const Commit> commits) {
    const auto held = encryption_->hold();
    const auto covered = [&](const Row& row) { return encryption_->covers(row.key); };
    const bool any = std::ranges::any_of(commits, [&](const Commit& commit) { return std::ranges::any_of(commit.rows, covered); });
    if (!any) return engine_->append(commits);
    // The caller's rows become what readers see, so they stay plain.
    std::vector<Commit> sealed(commits.begin(), commits.end());
    std::vector<Written> written;
    for (Commit& commit : sealed)
        for (Row& row : commit.rows)
            if (covered(row)) TRY_VOID(seal(row, written));
    TRY_VOID(engine_->append(sealed));
    for (const Written& one : written) encryption_->note(*one.key, one.with);
    return {};
}

std::optional<std::string> EncryptingEngine::open(Row& row) {
    const bool covered = encryption_->covers(row.key);
    if (row.deleted) {
        encryption_->note(row.key, std::nullopt);
        return std::nullopt;
    }
    if (!covered && !row.value.starts_with(EncryptedPrefix)) return std::nullopt;
    auto opened = encryption_->open(row.key, row.value);
    if (opened && row.revision_at && *row.revision_at > opened->bytes.size())
        opened = Error(Reason::InternalError, "the stored data was shorter than the required size");
    if (opened) {
        row.value = std::move(opened->bytes);
        encryption_->note(row.key, opened->key);
        return std::nullopt;
    }
    std::string stored = std::exchange(row.value, std::string(UnreadablePrefix) + opened.error().message);
    row.revision_at.reset();
    // Not stale: it cannot be written anew.
    encryption_->note(row.key, std::nullopt);
    return stored;
}

Result<Revision> EncryptingEngine::load(const std::function<void(Row)>& visit) {
    const auto held = encryption_->hold();
    StorageEncryption::SealedByKey unreadable;  // those that are current so far
    Revision hidden;
    TRY(const Revision compacted, engine_->load([&](Row row) {
        if (unreadable.erase(row.key) > 0) hidden = std::max(hidden, row.revision);
        if (auto stored = open(row)) unreadable[row.key] = {*std::move(stored), std::string(why_unreadable(row.value))};
        visit(std::move(row));
    }));
    encryption_->note_unreadable(std::move(unreadable));
    return std::max(compacted, hidden);
}

}  // namespace

std::unique_ptr<store::Engine> make_encrypting_engine(std::unique_ptr<store::Engine> engine,
                                                      std::shared_ptr<StorageEncryption> encryption) {
    return std::make_unique<EncryptingEngine>(std::move(engine), std::move(encryption));
}

}  // namespace porthole::apiserver
