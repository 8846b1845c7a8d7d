#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "kubelet/node/host.h"

#include "base/strings.h"

namespace porthole::kubelet {
namespace {

/// The value of `key` in lines of "key<separator>value".
std::string field(const std::string& text, const std::string& key, char separator) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t at = line.find(separator);
        if (at == std::string::npos || trim(std::string_view(line).substr(0, at)) != key) continue;
        return std::string(trim(std::string_view(line).substr(at + 1), " \t\r\""));
    }
    return "";
}

std::int64_t kilobytes(const std::string& meminfo, const char* key) {
    return std::strtoll(field(meminfo, key, ':').c_str(), nullptr, 10) * 1024;
}

/// "cpu  100 0 50 …" → the numbers.
std::vector<std::int64_t> numbers_of(const std::string& text, const std::string& key) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string first;
        words >> first;
        if (first != key) continue;
        std::vector<std::int64_t> numbers;
        for (std::int64_t number; words >> number;) numbers.push_back(number);
        return numbers;
    }
    return {};
}

std::string go_architecture(const std::string& machine) {
    if (machine == "x86_64") return "amd64";
    if (machine == "aarch64") return "arm64";
    if (machine.starts_with("armv")) return "arm";
    return machine;
}

class LinuxHost final : public Host {
public:
    explicit LinuxHost(FileSystem& files) : files_(files) {}

    HostFacts describe() override {
        HostFacts facts;
        facts.processors = std::max<long>(::sysconf(_SC_NPROCESSORS_ONLN), 1);
        const std::string memory = read("/proc/meminfo");
        facts.memory = kilobytes(memory, "MemTotal");
        facts.swap = kilobytes(memory, "SwapTotal");
        facts.machine_id = trim(read("/etc/machine-id"));
        facts.system_uuid = trim(read("/sys/class/dmi/id/product_uuid"));
        if (facts.system_uuid.empty()) facts.system_uuid = facts.machine_id;
        facts.boot_id = trim(read("/proc/sys/kernel/random/boot_id"));
        facts.os_image = field(read("/etc/os-release"), "PRETTY_NAME", '=');
        if (facts.os_image.empty()) facts.os_image = "Linux";
        facts.operating_system = "linux";
        struct utsname name;
        if (::uname(&name) == 0) {
            facts.kernel_version = name.release;
            facts.architecture = go_architecture(name.machine);
            facts.hostname = name.nodename;
        }
        return facts;
    }

    HostUsage usage() override {
        HostUsage usage;
        const std::string stat = read("/proc/stat"), memory = read("/proc/meminfo"), vm = read("/proc/vmstat");
        const std::vector<std::int64_t> cpu = numbers_of(stat, "cpu");
        // user nice system (idle iowait) irq softirq steal, in ticks
        std::int64_t ticks = 0;
        for (const std::size_t i : {0, 1, 2, 5, 6, 7})
            if (i < cpu.size()) ticks += cpu[i];
        usage.cpu_nanoseconds = ticks * (1'000'000'000 / std::max<long>(::sysconf(_SC_CLK_TCK), 1));
        const auto first = [](const std::vector<std::int64_t>& numbers) { return numbers.empty() ? 0 : numbers.front(); };
        usage.boot_time = first(numbers_of(stat, "btime"));
        usage.memory_available = kilobytes(memory, "MemAvailable");
        const std::int64_t total = kilobytes(memory, "MemTotal");
        usage.memory_used = total - kilobytes(memory, "MemFree");
        usage.memory_working_set = total - usage.memory_available;
        usage.memory_rss = kilobytes(memory, "AnonPages");
        usage.page_faults = first(numbers_of(vm, "pgfault"));
        usage.major_page_faults = first(numbers_of(vm, "pgmajfault"));
        usage.process_limit = std::strtoll(read("/proc/sys/kernel/pid_max").c_str(), nullptr, 10);
        const std::string load = read("/proc/loadavg");  // "0.0 0.0 0.0 running/total last"
        if (const std::size_t slash = load.find('/'); slash != std::string::npos)
            usage.processes = std::strtoll(load.c_str() + slash + 1, nullptr, 10);
        add_network(usage);
        return usage;
    }

private:
    /// The interface of the default route, or else the first that is not the loopback.
    void add_network(HostUsage& usage) {
        std::istringstream routes(read("/proc/net/route"));
        for (std::string line; std::getline(routes, line);) {
            std::istringstream words(line);
            std::string interface, destination;
            words >> interface >> destination;
            if (destination == "00000000") usage.network_interface = interface;
        }
        std::istringstream devices(read("/proc/net/dev"));
        for (std::string line; std::getline(devices, line);) {
            const std::size_t colon = line.find(':');
            if (colon == std::string::npos) continue;
            const std::string name(trim(std::string_view(line).substr(0, colon)));
            if (usage.network_interface.empty() && name != "lo") usage.network_interface = name;
            if (name != usage.network_interface) continue;
            std::istringstream words(line.substr(colon + 1));
            std::int64_t skipped;
            words >> usage.received_bytes >> skipped >> usage.receive_errors;
            for (int i = 0; i < 5; ++i) words >> skipped;
            words >> usage.sent_bytes >> skipped >> usage.send_errors;
        }
    }

    /// Files of /proc say that they are empty: read_at does not ask.
    std::string read(const char* path) { return files_.read_at(path, 0, 1 << 20).value_or(""); }

    FileSystem& files_;
};

}  // namespace

std::unique_ptr<Host> make_host(FileSystem& files) { return std::make_unique<LinuxHost>(files); }

}  // namespace porthole::kubelet
