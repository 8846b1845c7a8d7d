#include "cmd/server/server_encryption.h"

#include "apiserver/encryption/kms_cipher.h"
#include "apiserver/encryption/local_key.h"
#include "base/strings.h"
#include "runtime/files/durable_file.h"

namespace porthole::cmd {
namespace {

using namespace std::chrono_literals;
using apiserver::EncryptionConfiguration;

constexpr Duration LookEvery = 2s;     ///< upstream looks once a minute; a look is one system call
constexpr Duration ReopenEvery = 10s;  ///< what cannot be decrypted: a KMS plug-in may have come back

FileState state_of(const std::string& path) {
    std::error_code ignored;  // a file that is not there is one that has changed
    return {std::filesystem::last_write_time(path, ignored), std::filesystem::file_size(path, ignored)};
}

std::string kind_of(const apiserver::EncryptionProvider& provider) {
    constexpr const char* Names[] = {"identity", "secretbox", "aesgcm", "aescbc", "kms"};
    return Names[static_cast<std::size_t>(provider.kind)];
}

void append_metric(std::string& out, const std::string& name, const char* type, const char* help, const std::string& value) {
    out.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
    out.append(name).append(value).append("\n");
}

}  // namespace

void add_encryption_flags(CLI::App& app, EncryptionFlags& flags) {
    app.add_option("--encryption-provider-config", flags.configuration_file,
                   "file with an apiserver.config.k8s.io/v1 EncryptionConfiguration (default: encrypt secrets, with the key in "
                   "encryption.yaml in the data directory)");
    app.add_flag("--encryption-provider-config-automatic-reload", flags.automatic_reload, "load changes to that file without a restart");
}

Result<void> ServerEncryption::open(const EncryptionFlags& flags, const std::string& local_key_file) {
    path_ = flags.configuration_file;
    follows_ = flags.automatic_reload;
    if (path_.empty()) {
        path_ = local_key_file;
        follows_ = true;
        TRY(const bool exists, apiserver::LocalKeyFile(path_).exists());
        if (!exists) unwritten_ = apiserver::LocalKeyFile::with_new_key();
    }
    encryption_ = std::make_shared<apiserver::StorageEncryption>(
        [log = log_](const apiserver::EncryptionProvider& provider) { return apiserver::make_kms_cipher(provider, log); });
    seen_ = state_of(path_);
    TRY(auto taken, unwritten_ ? use(*unwritten_, unwritten_->text()) : take_up());
    hash_ = std::move(taken.hash);
    providers_ = std::move(taken.providers);
    return {};
}

Result<ServerEncryption::TakenUp> ServerEncryption::take_up() const {
    TRY(const std::string text, read_file(path_));
    auto configuration = EncryptionConfiguration::parse(text);
    if (!configuration) return std::move(configuration).error().with_context("encryption provider configuration file " + path_);
    return use(*configuration, text);
}

Result<ServerEncryption::TakenUp> ServerEncryption::use(const EncryptionConfiguration& configuration, const std::string& text) const {
    TRY_VOID(encryption_->use(configuration));
    std::vector<std::string> kinds;
    for (const apiserver::EncryptionProvider& provider : configuration.providers_of("", "secrets")) kinds.push_back(kind_of(provider));
    return TakenUp{apiserver::configuration_hash(text), join(kinds, ",")};
}

std::unique_ptr<store::Engine> ServerEncryption::wrap(std::unique_ptr<store::Engine> engine) {
    return apiserver::make_encrypting_engine(std::move(engine), encryption_);
}

Result<void> ServerEncryption::check_loaded() {
    const auto unreadable = encryption_->unreadable();
    if (unwritten_) {
        if (unreadable.count > 0)
            return Error(Reason::Conflict, path_ + " is missing, and with it the key of " + std::to_string(unreadable.count) +
                                               " stored objects, as " + unreadable.example +
                                               ": restore it from a backup. Where there is none, these objects are lost; to go on without "
                                               "them, put an EncryptionConfiguration of your own there, and delete them by name");
        TRY_VOID(apiserver::LocalKeyFile(path_).write(*unwritten_));
        unwritten_.reset();
        seen_ = state_of(path_);
    }
    if (unreadable.count == 0) return {};
    log_.error("objects cannot be decrypted; restore the key that they were encrypted with, or delete them",
               {{"objects", unreadable.count}, {"key", unreadable.example}, {"error", unreadable.why}, {"configuration", path_}});
    return {};
}

Task<> ServerEncryption::follow(apiserver::ApiServer& api) {
    MonotonicTime tried = world_.loop.now();
    for (;;) {
        CO_TRY_VOID(co_await world_.loop.sleep(LookEvery));
        const bool changed = follows_ && state_of(path_) != seen_;
        if (changed) CO_TRY_VOID(co_await take_up_changes());
        if (encryption_->unreadable().count == 0 || (!changed && world_.loop.now() - tried < ReopenEvery)) continue;
        tried = world_.loop.now();
        CO_TRY_VOID(co_await restore(api));
    }
}

Task<> ServerEncryption::take_up_changes() {
    seen_ = state_of(path_);
    // It waits for the write in progress, so not on the loop.
    auto taken = co_await run_blocking<TakenUp>(*world_.pool, [this] { return take_up(); });
    if (is_cancelled(taken)) co_return taken.error();
    ++(taken ? reloads_ : failures_);
    if (taken) {
        hash_ = std::move(taken->hash);
        log_.info("the encryption configuration has changed", {{"file", path_}, {"hash", hash_}});
    } else {
        log_.error("the changed encryption configuration is not used", {{"error", taken.error().message}});
    }
    co_return {};
}

Task<> ServerEncryption::restore(apiserver::ApiServer& api) {
    using Opened = std::vector<apiserver::StorageEncryption::Opened>;
    CO_TRY(Opened opened, co_await run_blocking<Opened>(*world_.pool, [this] { return Result<Opened>(encryption_->reopen()); }));
    if (opened.empty()) co_return {};
    const auto restored = co_await api.restore(std::move(opened));
    if (is_cancelled(restored)) co_return restored.error();
    if (!restored) {
        log_.warn("objects that can be decrypted again cannot be written", {{"error", restored.error().message}});
        co_return {};
    }
    log_.info("objects can be decrypted again", {{"objects", *restored}, {"left", encryption_->unreadable().count}});
    co_return {};
}

void ServerEncryption::append_metrics(std::string& out) const {
    const std::string controller = "apiserver_encryption_config_controller_";
    append_metric(out, controller + "automatic_reloads_total", "counter", "Changes of the encryption configuration, by outcome.",
                  "{status=\"success\"} " + std::to_string(reloads_) + "\n" + controller + "automatic_reloads_total{status=\"failure\"} " +
                      std::to_string(failures_));
    append_metric(out, controller + "last_config_info", "gauge", "The encryption configuration in use, by its hash.",
                  "{hash=\"" + hash_ + "\"} 1");
    append_metric(out, "porthole_storage_stale_values", "gauge", "Stored values whose encryption differs from the configuration.",
                  " " + std::to_string(encryption_->stale_values()));
    append_metric(out, "porthole_storage_unreadable_values", "gauge", "Stored values that cannot be decrypted.",
                  " " + std::to_string(encryption_->unreadable().count));
}

}  // namespace porthole::cmd
