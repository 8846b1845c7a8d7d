#include "cmd/server/server_audit.h"

#include "cmd/program/duration_flag.h"
#include "runtime/files/durable_file.h"

namespace porthole::cmd {
namespace {

constexpr std::uintmax_t Megabyte = 1 << 20;

Result<apiserver::AuditPolicy> read_policy(const std::string& path, Logger& log) {
    if (path.empty()) return apiserver::AuditPolicy::built_in();
    auto text = read_file(path);
    if (!text) return std::move(text).error().with_context("loading audit policy file");
    std::vector<std::string> warnings;
    auto policy = apiserver::AuditPolicy::parse(*text, warnings);
    if (!policy) return Error(Reason::BadRequest, "loading audit policy file: " + policy.error().message + ": from file " + path);
    for (const std::string& warning : warnings) log.warn("the audit policy contains errors, which are left out", {{"error", warning}});
    return policy;
}

}  // namespace

void add_audit_flags(CLI::App& app, AuditFlags& flags) {
    app.add_option("--audit-policy-file", flags.policy_file,
                   "file with an audit.k8s.io/v1 Policy (default: record writes, refusals, and reads of secrets, at the level Metadata)");
    // Differs from Kubernetes: backups are few and do not get old unless one asks for it with 0, so that a disk does not fill up.
    app.add_option("--audit-log-path,--audit-log", flags.log.path, "file for the audit log, with one event per line");
    app.add_option_function<std::uintmax_t>(
           "--audit-log-maxsize", [&flags](std::uintmax_t size) { flags.log.most_bytes = (size ? size : 100) * Megabyte; },
           "size in megabytes at which the file is renamed")
        ->check(CLI::Range(0, 1'000'000))
        ->default_str(std::to_string(flags.log.most_bytes / Megabyte));
    app.add_option("--audit-log-maxbackup", flags.log.most_backups, "number of renamed files to keep; 0: all")->capture_default_str();
    app.add_option_function<unsigned>(
           "--audit-log-maxage", [&flags](unsigned age) { flags.log.oldest = std::chrono::days(age); },
           "number of days to keep renamed files; 0: forever")
        ->check(CLI::Range(0, 100'000))
        ->default_str(std::to_string(flags.log.oldest.count()));
    app.add_option("--audit-webhook-config-file", flags.webhook_config_file,
                   "kubeconfig for a service that receives the events; its server is a URL with a path");
    app.add_option("--audit-webhook-batch-buffer-size", flags.webhook.buffer_size,
                   "maximum number of events that wait to be sent; further events are lost")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--audit-webhook-batch-max-size", flags.webhook.batch_max_size, "maximum number of events in one request to the webhook")
        ->check(CLI::Range(1, 100'000))
        ->capture_default_str();
    add_duration(app, "--audit-webhook-batch-max-wait", flags.webhook.batch_max_wait, "time after which a smaller number is sent");
    add_duration(app, "--audit-webhook-initial-backoff", flags.webhook.initial_backoff, "time before a failed request is sent again");
}

Result<void> ServerAudit::open(const AuditFlags& flags) {
    const bool to_file = !flags.log.path.empty(), to_webhook = !flags.webhook_config_file.empty();
    if (!to_file && !to_webhook) {
        if (flags.policy_file.empty()) return {};
        return Error(Reason::BadRequest,
                     "--audit-policy-file needs --audit-log-path or --audit-webhook-config-file: nothing would be recorded");
    }
    TRY(apiserver::AuditPolicy policy, read_policy(flags.policy_file, log_));
    std::vector<apiserver::AuditBackend*> backends;
    if (to_file) {
        TRY(file_, apiserver::AuditLog::open({world_.loop, *world_.pool, log_}, flags.log));
        backends.push_back(file_.get());
    }
    if (to_webhook) {
        auto opened = open_webhook(flags);
        if (!opened) return std::move(opened).error().with_context("--audit-webhook-config-file");
        backends.push_back(webhook_.get());
    }
    auditor_ = std::make_unique<apiserver::Auditor>(std::move(policy), std::move(backends));
    return {};
}

Result<void> ServerAudit::open_webhook(const AuditFlags& flags) {
    TRY(client_, apiserver::open_by_kubeconfig(*clients_, flags.webhook_config_file));
    auto post = [this](std::string body) -> Task<int> { return post_events(std::move(body)); };
    webhook_ = std::make_unique<apiserver::AuditWebhook>(
        apiserver::AuditWebhook::Seams{.loop = world_.loop, .random = random_, .log = log_, .post = std::move(post)}, flags.webhook);
    return {};
}

Task<int> ServerAudit::post_events(std::string body) {
    net::HttpRequest request{.method = "POST", .body = std::move(body)};
    request.headers.add("content-type", "application/json");
    CO_TRY(const net::HttpResponse response, co_await client_->send(std::move(request), {}));
    co_return response.code;
}

Task<> ServerAudit::close() {
    if (file_) CO_TRY_VOID(co_await file_->close());
    if (webhook_) CO_TRY_VOID(co_await webhook_->close());
    co_return co_await clients_->close();
}

}  // namespace porthole::cmd
