#include "cmd/server/server_secrets.h"

#include <algorithm>

#include "apiserver/encryption/local_key.h"
#include "base/strings.h"
#include "runtime/files/durable_file.h"

namespace porthole::cmd {
namespace {

using node_join::SecretsAgreement;

constexpr std::size_t ShortestToken = 16, LongestToken = 4096;

bool is_private(const std::filesystem::path& path) {
    using std::filesystem::perms;
    std::error_code error;
    const auto mode = std::filesystem::status(path, error).permissions();
    return !error && (mode & (perms::group_all | perms::others_all)) == perms::none;
}

}  // namespace

Result<std::string> read_server_token(const std::string& path) {
    auto text = read_file(path);
    if (!text) return std::move(text).error().with_context("--server-token-file");
    const std::string token(trim(*text));
    if (token.size() < ShortestToken || token.size() > LongestToken)
        return Error(Reason::BadRequest, "--server-token-file: " + path + " must have a token of at least " +
                                             std::to_string(ShortestToken) + " characters, such as `openssl rand -hex 32` prints");
    if (!std::ranges::all_of(token, [](unsigned char c) { return c > ' ' && c < 0x7f; }))
        return Error(Reason::BadRequest, "--server-token-file: " + path + " must have one word of printable ASCII characters");
    return token;
}

Task<std::unique_ptr<SecretsAgreement>> agree_on_secrets(RealWorld& world, ServerFlags flags, Logger log) {
    const local_cluster::DataDir data(flags.data);
    if (flags.etcd.servers.empty()) {
        CO_TRY_VOID(node_join::remove_shared_mark(data.root()));
        co_return std::unique_ptr<SecretsAgreement>();
    }
    SecretsAgreement::Options options{.data = data.root(), .local_key = flags.encryption.configuration_file.empty()};
    if (!flags.server_token_file.empty()) {
        CO_TRY(options.token, read_server_token(flags.server_token_file));
        options.read_token = [file = flags.server_token_file] { return read_server_token(file); };
        if (!is_private(flags.server_token_file))
            log.warn("others than its owner have access to the server token: chmod 600", {{"file", flags.server_token_file}});
    }
    options.check_encryption = [](const std::string& text) -> Result<void> {
        TRY_VOID(apiserver::EncryptionConfiguration::parse(text));
        return {};
    };
    if (options.local_key) options.new_encryption = apiserver::LocalKeyFile::with_new_key().text();
    options.no_objects = !path_exists(data.store() / "store.db") && !path_exists(data.store_location());
    options.settings = {
        {"--service-cidr", flags.service_cidr}, {"--cluster-cidr", flags.cluster_cidr}, {"--cluster-domain", flags.cluster_domain}};
    CO_TRY(EtcdAccess access, etcd_access(world, flags.etcd));
    options.etcd_prefix = std::move(access.prefix);
    auto client = std::make_unique<store::etcd::Client>(world.loop, std::move(access.members));
    const bool shares = !options.token.empty();
    auto agreement =
        std::make_unique<SecretsAgreement>(SecretsAgreement::Seams{world.loop, *world.pool, log}, std::move(client), std::move(options));
    auto agreed = co_await agreement->agree();
    if (agreed && shares) co_return std::move(agreement);
    CO_TRY_VOID(co_await agreement->close());
    if (!agreed) co_return explain_etcd_error(std::move(agreed).error());
    co_return std::unique_ptr<SecretsAgreement>();
}

}  // namespace porthole::cmd
