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
    Content content;
    if (unwritten_) {
        content = {unwritten_->text(), *unwritten_};
    } else {
        TRY(content, read());
    }
    TRY_VOID(encryption_->use(content.configuration));
    std::vector<std::string> kinds;
    for (const apiserver::EncryptionProvider& provider : content.configuration.providers_of("", "secrets"))
        kinds.push_back(kind_of(provider));
    providers_ = join(kinds, ",");
    taken_up(std::move(content));
    return {};
}

Result<ServerEncryption::Content> ServerEncryption::read() const {
    TRY(std::string text, read_file(path_));
    auto configuration = EncryptionConfiguration::parse(text);
    if (!configuration) return std::move(configuration).error().with_context("encryption provider configuration file " + path_);
    return Content{std::move(text), *std::move(configuration)};
}

void ServerEncryption::taken_up(Content content) {
    hash_ = apiserver::configuration_hash(content.text);
    used_ = std::move(content.configuration);
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

Task<> ServerEncryption::follow(apiserver::ApiServer& api, Agreed agreed) {
    MonotonicTime tried = world_.loop.now();
    for (;;) {
        CO_TRY_VOID(co_await world_.loop.sleep(LookEvery));
        const bool changed = follows_ && state_of(path_) != seen_;
        const bool due = awaited_ && agreed() == awaited_->text;
        if (changed) CO_TRY_VOID(co_await take_up_changes(agreed));
        if (due && !changed) CO_TRY_VOID(co_await change_to(*std::exchange(awaited_, {}), true));
        if (encryption_->unreadable().count == 0 || (!changed && world_.loop.now() - tried < ReopenEvery)) continue;
        tried = world_.loop.now();
        CO_TRY_VOID(co_await restore(api));
    }
}

Task<> ServerEncryption::take_up_changes(const Agreed& agreed) {
    seen_ = state_of(path_);
    awaited_.reset();
    auto content = co_await run_blocking<Content>(*world_.pool, [this] { return read(); });
    if (is_cancelled(content)) co_return content.error();
    if (!content) {
        not_used(content.error());
        co_return {};
    }
    const bool all_have_it = !agreed || agreed() == content->text;
    co_return co_await change_to(*std::move(content), all_have_it);
}

Task<> ServerEncryption::change_to(Content content, bool all_have_it) {
    const EncryptionConfiguration configuration = all_have_it ? content.configuration : reading_both(used_, content.configuration);
    // It waits for the write in progress, so not on the loop.
    const auto changed = co_await run_blocking<void>(*world_.pool, [&] { return encryption_->use(configuration); });
    if (is_cancelled(changed)) co_return changed;
    if (!changed) {
        not_used(changed.error());
    } else if (all_have_it) {
        ++reloads_;
        taken_up(std::move(content));
        log_.info("the encryption configuration has changed", {{"file", path_}, {"hash", hash_}});
    } else {
        awaited_ = std::move(content);
        log_.info("the changed encryption configuration decrypts, and encrypts once all servers have it", {{"file", path_}});
    }
    co_return {};
}

void ServerEncryption::not_used(const Error& error) {
    ++failures_;
    log_.error("the changed encryption configuration is not used", {{"error", error.message}});
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
