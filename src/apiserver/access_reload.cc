#include "apiserver/access_reload.h"

#include "apiserver/encryption/local_key.h"
#include "base/result.h"
#include "runtime/scope.h"

namespace porthole::apiserver {
namespace {

constexpr Duration LookEvery = std::chrono::seconds(5), RetryAfter = std::chrono::minutes(1);

/// Of a file that cannot be read: why, which is the hash of nothing.
std::string hash_of(const Result<std::string>& text) { return text ? configuration_hash(*text) : text.error().message; }

}  // namespace

AccessReload::AccessReload(Seams seams, AccessFlags flags, std::vector<std::string> own_issuers)
    : seams_(std::move(seams)), flags_(std::move(flags)), own_issuers_(std::move(own_issuers)) {
    authentication_ = {.name = "authentication", .path = flags_.authentication_config};
    authorization_ = {.name = "authorization", .path = flags_.authorization_config};
    for (File* file : {&authentication_, &authorization_})
        if (!file->path.empty()) file->used = hash_of(seams_.files.read(file->path, LargestAccessFile));
}

Task<> AccessReload::follow(ApiServer& server) {
    std::vector<Task<>> files;
    files.push_back(follow_file(authentication_, [this, &server](const std::string& text) { return use_authentication(server, text); }));
    files.push_back(follow_file(authorization_, [this, &server](const std::string& text) { return use_authorization(server, text); }));
    CO_TRY(const auto ended, co_await when_all(std::move(files)));
    for (const Result<void>& one : ended)
        if (!one) co_return one.error();
    co_return {};
}

Task<> AccessReload::follow_file(File& file, Use use) {
    if (file.path.empty()) co_return {};
    for (;;) {
        CO_TRY_VOID(co_await seams_.loop.sleep(LookEvery));
        const auto text = seams_.files.read(file.path, LargestAccessFile);
        const std::string hash = hash_of(text);
        if (hash == file.used) {
            file.tried.clear();
            continue;
        }
        if (hash == file.tried && seams_.loop.now() < file.next_try) continue;
        Result<void> outcome;
        if (text) {
            outcome = co_await use(*text);
        } else {
            outcome = text.error();
        }
        if (is_cancelled(outcome)) co_return outcome;
        note(file, hash, outcome);
    }
}

void AccessReload::note(File& file, const std::string& hash, const Result<void>& outcome) {
    Outcomes& outcomes = outcome ? file.successes : file.failures;
    ++outcomes.count;
    outcomes.last = seams_.loop.wall_now();
    (outcome ? file.used : file.tried) = hash;
    file.next_try = seams_.loop.now() + RetryAfter;
    if (outcome) {
        seams_.log.info("the " + file.name + " configuration has changed", {{"file", file.path}, {"hash", hash}});
    } else {
        seams_.log.error("the changed " + file.name + " configuration is not used",
                         {{"file", file.path}, {"error", outcome.error().message}});
    }
}

Task<> AccessReload::use_authentication(ApiServer& server, std::string text) {
    AuthenticationOptions options;
    CO_TRY_VOID(read_authentication_config(text, flags_, own_issuers_, options));
    co_return co_await server.use_issuers(std::move(options.issuers), std::move(options.anonymous));
}

Task<> AccessReload::use_authorization(ApiServer& server, std::string text) {
    CO_TRY(const auto authorizers, parse_authorization_config(text, flags_.authorization_config));
    co_return server.use_authorizers(authorizers);
}

void AccessReload::append_metrics(std::string& out) const {
    for (const File* file : {&authentication_, &authorization_}) {
        if (file->path.empty()) continue;
        const std::string controller = "apiserver_" + file->name + "_config_controller_";
        const auto family = [&](const std::string& name, const char* type, const std::string& help) {
            out += "# HELP " + controller + name + " " + help + "\n# TYPE " + controller + name + " " + type + "\n";
        };
        const auto value = [&](const std::string& name, const std::string& label, std::uint64_t number) {
            out += controller + name + "{" + label + "} " + std::to_string(number) + "\n";
        };
        const std::pair<const char*, const Outcomes*> outcomes[] = {{"status=\"success\"", &file->successes},
                                                                    {"status=\"failure\"", &file->failures}};
        family("automatic_reloads_total", "counter", "Changes of the " + file->name + " configuration, by outcome.");
        for (const auto& [label, outcome] : outcomes) value("automatic_reloads_total", label, outcome->count);
        family("automatic_reload_last_timestamp_seconds", "gauge", "When it was last reloaded, by outcome.");
        for (const auto& [label, outcome] : outcomes)
            if (outcome->count > 0)
                value("automatic_reload_last_timestamp_seconds", label, static_cast<std::uint64_t>(Timestamp(outcome->last).seconds()));
        family("last_config_info", "gauge", "The " + file->name + " configuration in use, by its hash.");
        value("last_config_info", "hash=\"" + file->used + "\"", 1);
    }
}

}  // namespace porthole::apiserver
