#include "cmd/verify/workload.h"

#include <charconv>

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

/// `route` prints addresses in every language, but its lines are not for Wine's cmd.
std::string ping_gateway(const std::string& image) {
    const std::string ping = " do @ping.exe -n 2 -w 2000 %g)";
    return is_bundled(image) ? "(for /f %g in ('C:\\web\\gateway.exe')" + ping
                             : "(for /f \"tokens=3\" %g in ('route print -4 0.0.0.0 ^| find \" 0.0.0.0 \"')" + ping;
}

std::string windows_attempt(std::size_t number, const Check& check, const std::string& image, const std::string& fetch) {
    const std::string id = std::to_string(number);
    if (check.ping == Gateway) return "echo check " + id + " ping & " + ping_gateway(image) + " & echo check " + id + " fail";
    // Its exit code says nothing: Windows' is 0 for "host unreachable", Wine's always.
    if (check.url.empty()) return "echo check " + id + " ping & ping.exe -n 2 -w 2000 " + check.ping + " & echo check " + id + " fail";
    const std::string attempt = (is_agnhost(image) ? "curl.exe -sS -m 5 " : fetch + " ") + check.url;
    // Wine's cmd runs what follows && after a failure, too; it knows the error level, but may go through both branches.
    return "(" + attempt + " >nul 2>nul & if errorlevel 1 (echo check " + id + " fail) else (echo check " + id + " pass))";
}

using NumberedChecks = std::vector<std::pair<std::size_t, Check>>;

std::vector<std::string> linux_command(const std::string& image, const NumberedChecks& checks) {
    std::vector<std::string> bundled{"/web/check"};
    std::string script;
    for (const auto& [number, check] : checks) {
        bundled.push_back(bundled_attempt(number, check));
        script += linux_attempt(number, check);
    }
    return is_bundled(image) ? bundled : std::vector<std::string>{"sh", "-c", script + "wait"};
}

std::vector<std::string> windows_command(const std::string& image, bool on_host, const NumberedChecks& checks) {
    // On the host the files of the image are somewhere below, and what the host has at C:\\web is none of ours.
    const std::string fetch = std::string(on_host ? "%CONTAINER_SANDBOX_MOUNT_POINT%" : "C:") + "\\web\\fetch.exe";
    std::string script;
    for (const auto& [number, check] : checks) script += (script.empty() ? "" : " & ") + windows_attempt(number, check, image, fetch);
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
    container.command = node.windows ? windows_command(images.windows_image, on_host, checks) : linux_command(images.linux_image, checks);
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
