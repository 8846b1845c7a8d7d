#include "cmd/verify/workload.h"

#include <charconv>

#include "base/strings.h"
#include "bundled_images/bundled_images.h"

namespace porthole::cmd::verify {

namespace {

constexpr const char* Label = "porthole.io/verify";

core::Pod pod_on(const Node& node, const std::string& name, const std::string& namespace_) {
    core::Pod pod;
    pod.metadata.name = name;
    pod.metadata.namespace_ = namespace_;
    pod.spec.node_selector = {{"kubernetes.io/hostname", node.name}, {"kubernetes.io/os", node.windows ? "windows" : "linux"}};
    // Nodes are often tainted by system; the check is about all of them.
    core::Toleration everything;
    everything.operator_ = "Exists";
    pod.spec.tolerations.push_back(everything);
    pod.spec.termination_grace_period_seconds = 1;
    pod.spec.automount_service_account_token = false;
    return pod;
}

/// The image that Porthole's nodes carry has no shell.
bool is_bundled(const std::string& image) { return image == bundled_images::WebImage; }
bool is_agnhost(const std::string& image) { return image.find("agnhost") != image.npos; }

std::string bundled_attempt(std::size_t number, const Check& check) {
    return std::to_string(number) + "=" + (check.url.empty() ? "ping:" + check.ping : check.url);
}

std::string linux_attempt(std::size_t number, const Check& check) {
    const std::string host = check.ping == Gateway ? "$(ip route | awk '/^default/ {print $3}')" : check.ping;
    const std::string attempt = check.url.empty() ? "timeout 5 ping -c 1 -W 3 " + host : "timeout 5 wget -q -O /dev/null " + check.url;
    const std::string id = std::to_string(number);
    return "( " + attempt + " >/dev/null 2>&1 && echo check " + id + " pass || echo check " + id + " fail ) &\n";
}

/// For agnhost. `route` prints addresses in every language, but its lines are not for Wine's cmd.
std::string windows_attempt(std::size_t number, const Check& check) {
    const std::string id = std::to_string(number);
    const std::string ping = "ping.exe -n 2 -w 2000 ";
    // Its exit code says nothing: Windows' is 0 for "host unreachable", Wine's always.
    const auto read_answer = [&](const std::string& command) {
        return "echo check " + id + " ping & " + command + " & echo check " + id + " fail";
    };
    if (check.ping == Gateway)
        return read_answer("(for /f \"tokens=3\" %g in ('route print -4 0.0.0.0 ^| find \" 0.0.0.0 \"') do @" + ping + "%g)");
    if (check.url.empty()) return read_answer(ping + check.ping);
    // Wine's cmd runs what follows && after a failure, too; it knows the error level, but may go through both branches.
    return "(curl.exe -sS -m 5 " + check.url + " >nul 2>nul & if errorlevel 1 (echo check " + id + " fail) else (echo check " + id +
           " pass))";
}

using NumberedChecks = std::vector<std::pair<std::size_t, Check>>;

std::vector<std::string> bundled_command(bool windows, bool on_host, const NumberedChecks& checks) {
    std::vector<std::string> words{windows ? "C:\\web\\check.exe" : "/web/check"};
    for (const auto& [number, check] : checks) words.push_back(bundled_attempt(number, check));
    if (!windows || !on_host) return words;
    // On the host the files of the image are somewhere below, and what the host has at C:\\web is none of ours.
    words[0] = "%CONTAINER_SANDBOX_MOUNT_POINT%\\web\\check.exe";
    return {"cmd.exe", "/c", join(words, " ")};
}

std::vector<std::string> linux_command(const NumberedChecks& checks) {
    std::string script;
    for (const auto& [number, check] : checks) script += linux_attempt(number, check);
    return {"sh", "-c", script + "wait"};
}

std::vector<std::string> windows_command(const NumberedChecks& checks) {
    std::string script;
    for (const auto& [number, check] : checks) script += (script.empty() ? "" : " & ") + windows_attempt(number, check);
    return {"cmd.exe", "/c", script};
}

}  // namespace

core::Pod server_pod(const Node& node, const Images& images, const Service& service) {
    core::Pod pod = pod_on(node, node.server, service.namespace_);
    pod.metadata.labels = {{Label, "server"}};
    pod.spec.hostname = node.server;
    pod.spec.subdomain = "servers";
    core::Container container;
    container.name = "server";
    container.image = node.windows ? images.windows_image : images.linux_image;
    container.image_pull_policy = "IfNotPresent";
    // One port everywhere: all backends of a service share it on Windows nodes.
    constexpr int Port = 80;
    if (!node.windows && !is_bundled(images.linux_image)) {
        container.command = {"sh", "-c",
                             "if [ -x /agnhost ]; then exec /agnhost netexec --http-port=80; fi; mkdir -p /tmp/site; echo verified > "
                             "/tmp/site/index.html; exec httpd -f -p 80 -h /tmp/site"};
    } else if (node.windows && is_agnhost(images.windows_image)) {
        container.args = {"netexec", "--http-port=80"};
    }
    container.ports.push_back({.name = "http", .host_port = service.host_port, .container_port = Port, .protocol = "TCP"});
    core::Probe probe;
    probe.tcp_socket.emplace();
    probe.tcp_socket->port = IntOrString(Port);
    probe.period_seconds = 1;
    container.readiness_probe = probe;
    pod.spec.containers.push_back(std::move(container));
    return pod;
}

std::vector<core::Service> services(const Service& service) {
    core::Service all;
    all.metadata.name = service.name;
    all.metadata.namespace_ = service.namespace_;
    all.spec.type = "NodePort";
    all.spec.selector = {{Label, "server"}};
    all.spec.ports.push_back({.name = "http", .protocol = "TCP", .port = service.port, .target_port = IntOrString("http")});
    core::Service names = all;
    names.metadata.name = "servers";
    names.spec.type = "ClusterIP";
    names.spec.cluster_ip = "None";
    return {all, names};
}

core::Pod prober_pod(const Node& node, bool on_host, const Images& images, const std::string& namespace_,
                     const std::vector<std::pair<std::size_t, Check>>& checks) {
    core::Pod pod = pod_on(node, (on_host ? "from-node-" : "from-pod-") + node.server, namespace_);
    pod.spec.host_network = on_host;
    if (on_host && node.windows) {
        // On Windows only the host's own programs are on its network.
        auto& options = pod.spec.security_context.emplace().windows_options.emplace();
        options.host_process = true;
        options.run_as_user_name = "NT AUTHORITY\\SYSTEM";
    }
    pod.spec.restart_policy = "Never";
    core::Container container;
    container.name = "prober";
    container.image = node.windows ? images.windows_image : images.linux_image;
    container.image_pull_policy = "IfNotPresent";
    // On Windows, what is not agnhost is the bundled image's programs on a base image of the user's choice.
    if (node.windows ? !is_agnhost(container.image) : is_bundled(container.image))
        container.command = bundled_command(node.windows, on_host, checks);
    else
        container.command = node.windows ? windows_command(checks) : linux_command(checks);
    pod.spec.containers.push_back(std::move(container));
    return pod;
}

std::map<std::size_t, bool> read_answers(const std::string& log) {
    std::map<std::size_t, bool> answers;
    constexpr std::string_view Start = "check ";
    for (std::size_t at = 0; (at = log.find(Start, at)) != log.npos;) {
        at += Start.size();
        std::size_t number = 0;
        const auto [end, error] = std::from_chars(log.data() + at, log.data() + log.size(), number);
        if (error != std::errc()) continue;
        const std::string_view rest(end, static_cast<std::size_t>(log.data() + log.size() - end));
        // What ping prints of a reply, in every language.
        if (rest.starts_with(" ping") && rest.substr(0, rest.find(Start)).contains("TTL=")) answers.try_emplace(number, true);
        if (rest.starts_with(" pass")) answers.try_emplace(number, true);
        if (rest.starts_with(" fail")) answers.try_emplace(number, false);
    }
    return answers;
}

}  // namespace porthole::cmd::verify
