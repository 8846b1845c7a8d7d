#include "provision/fake_server_hosts.h"

#include "provision/fake_machines.h"

namespace porthole::provision {
namespace {

using namespace std::chrono_literals;

/// A text that only one script has, and what stands for it in names.
constexpr std::pair<const char*, const char*> Scripts[] = {
    {"echo system=", "ask"},      {"arrived changed", "unpack"},
    {"echo \"held=", "hold"},     {"then rm -f", "release"},
    {"mkdir -m 0700", "folder"},  {"umask 077\ncat", "write"},
    {"= keep ]", "place"},        {"systemctl restart", "roll back"},
    {"systemctl start", "start"}, {"rm -rf /var/lib/porthole ", "remove"},
    {"systemctl stop", "stop"},   {"echo count=", "ends"},
    {".previous", "forget"},
};

std::string name_of_command(const std::vector<std::string>& words) {
    if (words[0] == "mktemp") return "mktemp";
    if (words[0] != "sh") return words[0] == "cat" ? "read" : words[1];
    if (const std::string name = FakeEtcd::name_of_script(words[2]); !name.empty()) return name;
    for (const auto& [text, name] : Scripts)
        if (words[2].contains(text)) return name;
    return "unknown";
}

/// The API server of one machine.
class ServerApi final : public client::Transport {
public:
    ServerApi(FakeServerHosts& hosts, client::FakeApi& api, std::string address) : hosts_(hosts), api_(api), address_(std::move(address)) {}
    Task<client::ApiResponse> call(client::ApiRequest request) override {
        if (!hosts_.is_ready(address_)) co_return Error(Reason::Unavailable, "connection refused");
        if (hosts_.is_silent(address_)) CO_TRY_VOID(co_await hosts_.loop().sleep(24h));
        if (request.path == "/readyz") co_return client::ApiResponse{.code = 200};
        co_return co_await api_.call(std::move(request));
    }
    Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest request) override { return api_.watch(std::move(request)); }

private:
    FakeServerHosts& hosts_;
    client::FakeApi& api_;
    const std::string address_;
};

}  // namespace

bool FakeServerHosts::is_ready(const std::string& address) {
    const State& state = states_[address];
    return state.is_reachable && state.is_running && state.program != state.broken_program;
}

bool FakeServerHosts::is_silent(const std::string& address) {
    const State& state = states_[address];
    return !state.silent_program.empty() && state.program == state.silent_program;
}

Result<std::unique_ptr<client::Transport>> FakeServerHosts::connect(const std::string& url) {
    const std::size_t start = std::string_view("https://").size();
    return std::unique_ptr<client::Transport>(std::make_unique<ServerApi>(*this, api_, url.substr(start, url.rfind(':') - start)));
}

Task<CommandOutput> FakeServerHosts::run(SshTarget target, std::string command, std::string input, Duration limit) {
    CO_TRY_VOID(co_await loop_.sleep(100ms));
    State& state = states_[target.address];
    if (!state.is_reachable) co_return Error(Reason::Unavailable, target.address + " cannot be reached: no route to host");
    std::vector<std::string> given = shell_words(command);
    words.insert(words.end(), given.begin(), given.end());
    if (given[0] == "timeout") given.erase(given.begin(), given.begin() + 3);
    if (!state.refusal.empty()) co_return CommandOutput{.exit_code = 1, .errors = state.refusal};
    const std::string name = name_of_command(given);
    names.push_back(target.address.substr(target.address.rfind('.') + 1) + " " + name);
    FakeEtcd::Host& etcd_host = etcd.at(target.address);
    if (state.files.contains("server-token")) etcd_host.token = state.files.at("server-token");
    if (const auto done = etcd_host.act(name, given, input)) co_return *done;
    if (name == "remove") etcd_host = {};
    CommandOutput done = act(state, name, given, input);
    if (state.is_running && state.files.at("porthole-server.service").contains("--etcd-servers")) etcd_host.serves_objects = true;
    co_return done;
}

Task<> FakeServerHosts::copy(SshTarget, std::string, std::string) { co_return {}; }

CommandOutput FakeServerHosts::act(State& state, const std::string& name, const std::vector<std::string>& words, const std::string& input) {
    if (name == "ask") return {.output = answer(state)};
    if (name == "mktemp") return {.output = "/tmp/porthole.abcdefghij\n"};
    if (name == "kubeconfig")
        return state.is_running ? CommandOutput{.output = kubeconfig} : CommandOutput{.exit_code = 1, .errors = "no cluster"};
    if (name == "ends")
        return {.output = "count=" + std::string(state.is_running && state.program == state.broken_program ? "7" : "0") +
                          "\nsaid=out of cheese\n"};
    if (name == "hold" && !state.holder.empty() && state.holder != words.back()) return {.output = "held=" + state.holder + "\n"};
    if (name == "hold") state.holder = words.back();
    if (name == "release" && state.holder == words.back()) state.holder.clear();
    if (name == "unpack") state.uploaded = words.back();
    if (name == "folder") state.uploaded_files.clear(), state.uploaded.clear();
    if (name == "write") state.uploaded_files[words.back()] = input;
    if (name == "place") {
        if (words.back() == "keep") state.previous = state.program, state.previous_files = state.files;
        if (!state.uploaded.empty()) state.program = std::exchange(state.uploaded, "");
        state.files = std::exchange(state.uploaded_files, {});
    }
    if (name == "roll back") {
        if (!state.previous.empty()) state.program = std::exchange(state.previous, "");
        if (!state.previous_files.empty()) state.files = std::exchange(state.previous_files, {});
    }
    if (name == "forget") state.previous.clear(), state.previous_files.clear();
    if (name == "remove") state = State{};
    if (name == "stop") state.is_running = false;
    if (name == "start" || name == "roll back") state.is_running = true;
    return {};
}

std::string FakeServerHosts::answer(const State& state) const {
    std::string text = state.more + "system=Linux\narchitecture=x86_64\nservices=systemd\n";
    for (const ServerFiles& files : {state.files, state.previous_files})
        if (files.contains("cluster")) text += "cluster=" + files.at("cluster") + "\nnetworks=" + files.at("networks") + "\n";
    if (!state.program.empty()) text += "program=" + state.program + "\n";
    if (!state.previous.empty() || !state.previous_files.empty()) text += "previous=yes\n";
    if (!state.files.empty()) text += "files=" + digest_of(state.files) + "\n";
    if (state.is_running) text += "server=active\n";
    return text;
}

}  // namespace porthole::provision
