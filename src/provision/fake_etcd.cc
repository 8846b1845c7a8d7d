#include "provision/fake_etcd.h"

#include <algorithm>

#include "base/base64.h"
#include "base/result.h"
#include "base/strings.h"
#include "net/tls/x509.h"

namespace porthole::provision {
namespace {

/// A text that only one script has, and what stands for it in names.
constexpr std::pair<const char*, const char*> EtcdScripts[] = {
    {"ssh-keygen -q", "etcd keys"},
    {"etcd Version", "etcd ask"},
    {"cat >\"$1.new\"", "etcd write"},
    {"no data yet", "etcd log"},
    {"rm -rf /var/lib/porthole-etcd/data", "etcd clear"},
    {"enable --quiet porthole-etcd.service", "etcd start"},
    {"_SYSTEMD_UNIT=porthole-etcd.service", "etcd said"},
};

std::string sha256_of(const std::string& text) { return net::to_hex(net::sha256(text)); }

const std::string& public_key() {
    static const std::string key = encode_base64(net::PrivateKey::generate().public_der());
    return key;
}

std::string last_part(const std::string& address) { return address.substr(address.rfind('.') + 1); }

}  // namespace

std::string FakeEtcd::name_of_script(const std::string& script) {
    for (const auto& [text, name] : EtcdScripts)
        if (script.contains(text)) return name;
    return "";
}

std::optional<CommandOutput> FakeEtcd::Host::act(const std::string& name, const std::vector<std::string>& words, const std::string& input) {
    if (name == "etcd ask") return CommandOutput{.output = answer()};
    if (name == "read") {
        const std::string& file = words.back();
        return CommandOutput{.output = file.ends_with("server-token") ? token : files[file.substr(file.rfind('/') + 1)]};
    }
    if (name == "etcd said") return CommandOutput{.output = "said=bind: cannot assign requested address\n"};
    if (name == "etcd log") return has_log ? CommandOutput{} : CommandOutput{.exit_code = 1, .errors = "it has no data yet"};
    if (!name.starts_with("etcd")) return std::nullopt;
    if (name == "etcd keys") has_keys = true, is_running = false;
    if (name == "etcd write") files[words.back()] = input;
    if (name == "etcd clear") has_log = is_running = false;
    if (name == "etcd start") {
        // As etcd with nothing to begin with.
        is_running = !has_problem && (has_log || files["bootstrap"] != SealedBootstrap);
        has_log = has_log || is_running;
    }
    return CommandOutput{.output = name == "etcd keys" ? answer() : ""};
}

std::string FakeEtcd::Host::answer() const {
    std::string text = "version=" + version + "\nfiles=";
    for (const char* name : {"ca.key", "issued", PORTHOLE_ETCD_UNIT})
        if (files.contains(name)) text += std::string(name) + " " + sha256_of(files.at(name)) + " ";
    text += "\n";
    if (files.contains("ca.crt")) text += "authority=" + sha256_of(files.at("ca.crt")) + "\n";
    if (has_keys) text += "member=" + public_key() + "\nclient=" + public_key() + "\n";
    if (files.contains("member.crt") && files.contains("client.crt")) text += "certificates=yes\n";
    if (files.contains("bootstrap")) text += "bootstrap=" + join(split_nonempty(files.at("bootstrap"), '\n'), " ") + "\n";
    if (has_log) text += "log=yes\n";
    if (is_running) text += "service=active\n";
    if (!token.empty()) text += "token=" + sha256_of(token) + "\n";
    if (serves_objects || has_own_store) text += serves_objects ? "objects=etcd\n" : "objects=own\n";
    return text;
}

/// A first etcd is there as soon as more than half of the members run that each was told to begin with.
void FakeEtcd::begin() {
    if (!members_.empty()) return;
    std::vector<std::string> told;
    std::size_t running = 0;
    for (auto& [address, host] : hosts_) {
        const std::string text = host.is_running ? host.files["bootstrap"] : "";
        if (!text.contains("STATE=new")) continue;
        ++running;
        told = split_nonempty(text.substr(0, text.find('\n')).substr(std::string_view("ETCD_INITIAL_CLUSTER=").size()), ',');
    }
    if (2 * running <= told.size()) return;
    for (const std::string& one : told) members_.push_back({.id = ++last_id_, .address = one.substr(0, one.find('='))});
}

bool FakeEtcd::is_healthy(const EtcdMemberSeen& member) {
    const Host& host = hosts_[member.address];
    return host.is_running && host.has_log;
}

bool FakeEtcd::has_majority() {
    begin();
    std::size_t voters = 0, healthy = 0;
    for (const EtcdMemberSeen& member : members_) {
        voters += member.is_learner ? 0 : 1;
        healthy += !member.is_learner && is_healthy(member) ? 1 : 0;
    }
    return 2 * healthy > voters;
}

std::string FakeEtcd::roster() const {
    return join(members_, " ", [](const EtcdMemberSeen& member) { return last_part(member.address) + (member.is_learner ? "?" : ""); });
}

/// Through any member.
class FakeRoster final : public EtcdRoster {
public:
    explicit FakeRoster(FakeEtcd& etcd) : etcd_(etcd) {}
    Task<std::vector<EtcdMemberSeen>> members() override {
        if (!etcd_.has_majority()) co_return Error(Reason::ServiceUnavailable, "etcd is not available");
        std::vector<EtcdMemberSeen> members = etcd_.members_;
        for (EtcdMemberSeen& member : members) member.is_healthy = etcd_.is_healthy(member);
        members.front().leads = true;
        co_return std::move(members);
    }
    Task<> add_learner(std::string address) override {
        CO_TRY_VOID(check("add " + last_part(address)));
        if (!std::ranges::all_of(etcd_.members_, [&](const auto& member) { return etcd_.is_healthy(member); }))
            co_return Error(Reason::InternalError, "etcd: etcdserver: unhealthy cluster");
        etcd_.members_.push_back({.id = ++etcd_.last_id_, .address = address, .is_learner = true});
        co_return {};
    }
    Task<> promote(std::uint64_t id) override {
        CO_TRY_VOID(check("promote " + last_part(find(id)->address)));
        find(id)->is_learner = false;
        co_return {};
    }
    Task<> remove(std::uint64_t id) override {
        CO_TRY_VOID(check("remove " + last_part(find(id)->address)));
        etcd_.hosts_[find(id)->address].is_running = false;  // a removed member ends
        etcd_.members_.erase(find(id));
        co_return {};
    }

private:
    Result<void> check(const std::string& change) {
        if (etcd_.refusals > 0 && etcd_.refusals-- > 0) return Error(Reason::InternalError, "etcd: etcdserver: unhealthy cluster");
        if (!etcd_.has_majority()) return Error(Reason::ServiceUnavailable, "etcd is not available");
        etcd_.changes.push_back(change);
        return {};
    }
    std::vector<EtcdMemberSeen>::iterator find(std::uint64_t id) { return std::ranges::find(etcd_.members_, id, &EtcdMemberSeen::id); }
    FakeEtcd& etcd_;
};

ConnectEtcd FakeEtcd::connect() {
    return [this](const net::CertificateAuthority&, std::vector<std::string>) -> Result<std::unique_ptr<EtcdRoster>> {
        return std::unique_ptr<EtcdRoster>(std::make_unique<FakeRoster>(*this));
    };
}

}  // namespace porthole::provision
