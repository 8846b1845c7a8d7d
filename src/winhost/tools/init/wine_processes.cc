#include "winhost/tools/init/wine_processes.h"

#include <dirent.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace porthole::winhost {
namespace {

/// Of /proc/PID/stat.
struct Process {
    std::string name;
    char state = 'Z';
    pid_t parent = 0, session = 0;
    unsigned long long started = 0;  ///< in ticks since the machine was
};

Process read_process(const std::string& pid) {
    Process process;
    std::FILE* const file = std::fopen(("/proc/" + pid + "/stat").c_str(), "re");
    if (!file) return process;
    char content[1024];
    const std::string text(content, std::fread(content, 1, sizeof content, file));
    std::fclose(file);
    const std::size_t begin = text.find('('), end = text.rfind(')');
    if (end == text.npos) return process;
    process.name = text.substr(begin + 1, end - begin - 1);
    std::sscanf(text.c_str() + end + 1, " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &process.state,
                &process.parent, &process.session, &process.started);
    return process;
}

template <class Visit>
void for_each_process(Visit visit) {
    DIR* const folder = ::opendir("/proc");
    while (const dirent* entry = folder ? ::readdir(folder) : nullptr) {
        const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
        if (pid > 1) visit(pid, read_process(entry->d_name));
    }
    if (folder) ::closedir(folder);
}

}  // namespace

WineProcesses find_wine_processes(pid_t launcher) {
    WineProcesses found;
    unsigned long long earliest = ~0ULL;
    for_each_process([&](pid_t pid, const Process& process) {
        // Wine leaves what it starts to the first process. Its own services have sessions of their own, a console's process has not.
        if (pid == launcher || process.parent != 1 || process.state == 'Z') return;
        if (process.name == "wineserver64") found.server = pid;
        if (process.session != launcher || process.name == "conhost.exe" || process.started >= earliest) return;
        earliest = process.started;
        found.program = pid;
    });
    return found;
}

void kill_session(pid_t leader) {
    for_each_process([&](pid_t pid, const Process& process) {
        if (process.session == leader) ::kill(pid, SIGKILL);
    });
}

}  // namespace porthole::winhost
