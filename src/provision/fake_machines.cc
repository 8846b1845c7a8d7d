#include "provision/fake_machines.h"

#include "api/core_v1.h"
#include "provision/remote_script.h"

namespace porthole::provision {
namespace {

using namespace std::chrono_literals;
using api::core::v1::Node;

/// What stands for a command in names().
std::string name_of(const std::vector<std::string>& words) {
    const std::string& script = words.size() > 2 && words[0] == "sh" ? words[2] : "";
    const auto has = [&](const char* text) { return script.find(text) != script.npos; };
    if (has("echo system=")) return "ask";
    if (has("arrived changed")) return "unpack";
    if (has("systemctl restart")) return "roll back";
    if (has(" reset ")) return "remove";
    if (!script.empty()) return words.back() == "keep" ? "place keep" : "place";
    if (words[0] == "mktemp") return "folder";
    if (words[0] == "systemctl") return words[1];
    if (words[0] == "rm") return words[1] == "-rf" ? "clean up" : "forget";
    return words[1];
}

}  // namespace

std::vector<std::string> shell_words(const std::string& text) {
    std::vector<std::string> words;
    bool is_quoted = false, is_open = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == ' ' && !is_quoted) {
            is_open = false;
            continue;
        }
        if (!is_open) words.emplace_back();
        is_open = true;
        if (c == '\'')
            is_quoted = !is_quoted;
        else if (c == '\\' && !is_quoted)
            words.back() += text[++i];
        else
            words.back() += c;
    }
    return words;
}

std::vector<std::string> FakeMachines::names(const std::string& address) const {
    std::vector<std::string> names;
    for (const Seen& seen : seen_)
        if (seen.address == address) names.push_back(name_of(seen.words));
    return names;
}

Task<CommandOutput> FakeMachines::run(SshTarget target, std::string command, std::string input, Duration limit) {
    most_ = std::max(most_, ++running_);
    const auto slept = co_await loop_.sleep(100ms);
    --running_;
    CO_TRY_VOID(slept);
    State& state = states_[target.address];
    if (!state.is_reachable) co_return Error(Reason::Unavailable, target.address + " cannot be reached: no route to host");
    Seen seen{target.address, shell_words(command), std::move(input)};
    seen.is_by_sudo = seen.words[0] == "sudo";
    if (seen.is_by_sudo) seen.words.erase(seen.words.begin(), seen.words.begin() + 3);
    if (seen.words[0] == "timeout") {
        seen.seconds = std::stoi(seen.words[2]);
        seen.words.erase(seen.words.begin(), seen.words.begin() + 3);
    }
    seen_.push_back(seen);
    co_return act(state, seen);
}

Task<> FakeMachines::copy(SshTarget target, std::string local, std::string remote) {
    State& state = states_[target.address];
    ++state.copies;
    if (state.is_full) co_return Error(Reason::Io, "scp: write remote: No space left on device");
    co_return {};
}

CommandOutput FakeMachines::act(State& state, const Seen& seen) {
    const std::string name = name_of(seen.words);
    if (name == "ask") return answer(state);
    if (name == "folder") return {.output = "/tmp/porthole.abcdefghij\n"};
    if (name == "unpack") state.uploaded = seen.words.back();
    if (name.starts_with("place")) {
        if (name == "place keep") state.previous = state.program;
        state.program = std::exchange(state.uploaded, "");
    }
    if (name == "forget") state.previous.clear();
    if (name == "stop") state.is_running = false;
    if (name == "roll back") state.program = std::exchange(state.previous, "");
    if (name == "remove") state = State{};
    if (name == "join") {
        if (seen.input.find('.') != 6) return {.exit_code = 1, .errors = "porthole: no token in standard input"};
        if (state.refuses_to_join) return {.exit_code = 1, .errors = "porthole: the clock is wrong\n"};
        state.server = seen.words[2];
        state.node = seen.words[8];
    }
    if (name == "join" || name == "start" || name == "roll back") start(state);
    return {};
}

CommandOutput FakeMachines::answer(const State& state) const {
    std::string text = "system=Linux\narchitecture=x86_64\nservices=systemd\n";
    if (state.has_runtime) text += "runtime=yes\n";
    if (!state.program.empty()) text += "program=" + state.program + "\n";
    if (!state.previous.empty()) text += "previous=yes\n";
    if (!state.server.empty()) text += "server=" + state.server + "\n";
    if (state.is_running) text += "agent=active\n";
    return {.output = text};
}

void FakeMachines::start(State& state) {
    state.is_running = true;
    Node node = api_.find<Node>({"", state.node}).value_or(Node{});
    node.metadata.name = state.node;
    node.status.conditions.clear();
    const bool is_ready = state.program != state.broken_program;
    node.status.conditions.push_back({.type = "Ready",
                                      .status = is_ready ? "True" : "False",
                                      .last_heartbeat_time = Timestamp(loop_.wall_now()),
                                      .reason = is_ready ? "KubeletReady" : "KubeletNotReady",
                                      .message = is_ready ? "" : "the runtime is down"});
    api_.put(node);
}

}  // namespace porthole::provision
