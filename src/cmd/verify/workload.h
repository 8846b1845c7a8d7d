#pragma once
#include <string>
#include <vector>

#include "api/core_v1.h"
#include "cmd/verify/plan.h"

namespace porthole::cmd::verify {

namespace core = api::core::v1;

/// Images with what the checks need: the one that Porthole's nodes carry (bundled_images::WebImage), or another. Linux: a shell with
/// timeout, wget and ping, and httpd of busybox or agnhost. Windows: a web server on port 80 as entrypoint (or agnhost), and
/// C:\web\fetch.exe or curl.exe.
struct Images {
    std::string linux_image, windows_image;
};

/// A web server on the node, reachable by name and at a host port.
core::Pod server_pod(const Node& node, const Images& images, const Service& service);
/// The service in front of all servers (with a node port), and the headless one that gives them names.
std::vector<core::Service> services(const Service& service);

/// A pod that makes the attempts one after the other (Linux: concurrently) and prints "check <number> pass|fail" for each; the numbers are
/// those of `checks`. All attempts are from one node, either from pods or from the node itself.
core::Pod prober_pod(const Node& node, bool on_host, const Images& images, const std::string& namespace_,
                     const std::vector<std::pair<std::size_t, Check>>& checks);
/// The results that a prober has printed, by number; if a number occurs several times, its first result.
std::map<std::size_t, bool> read_answers(const std::string& log);

}  // namespace porthole::cmd::verify
