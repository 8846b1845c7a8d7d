#include "kubelet/lifecycle/log_links.h"

namespace porthole::kubelet {

void LogLinks::add(const core::Pod& pod, const std::string& container, const std::string& id, const std::string& log_path) {
    if (directory_.empty()) return;
    const std::string link = directory_ + "/" + pod.metadata.name + "_" + pod.metadata.namespace_ + "_" + container + "-" + id + ".log";
    (void)files_.create_directories(directory_, 0755);
    (void)files_.remove(link);
    const auto made = files_.create_symlink(log_path, link);
    if (!made && !fail_) log_.warn("links to logs cannot be made", {{"folder", directory_}, {"error", made.error().message}});
    fail_ = !made;
}

void LogLinks::remove(const std::string& id) {
    if (directory_.empty()) return;
    for (const std::string& name : files_.list(directory_).value_or(std::vector<std::string>()))
        if (name.ends_with("-" + id + ".log")) (void)files_.remove(directory_ + "/" + name);
}

}  // namespace porthole::kubelet
