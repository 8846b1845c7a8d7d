#pragma once
#include <filesystem>
#include <fstream>
#include <map>

#include "provision/transport.h"
#include "runtime/processes/process_fixture.h"

namespace porthole::provision {

/// Runs the commands for a machine in a real shell on this one, with directories that stand for the machine's. For tests.
struct LocalShell final : Transport {
    Task<CommandOutput> run(SshTarget, std::string command, std::string input, Duration limit) override {
        for (const auto& [from, to] : places)
            for (std::size_t at = 0; (at = command.find(from, at)) != command.npos; at += to.size()) command.replace(at, from.size(), to);
        command = "PATH=" + folder + "/tools:$PATH; " + before + command;
        co_return co_await processes->run({.arguments = {"sh", "-c", command}, .input = std::move(input), .limit = limit});
    }
    Task<> copy(SshTarget, std::string, std::string) override { co_return {}; }

    ProcessRunner* processes = nullptr;
    std::string folder, before;
    std::map<std::string, std::string> places;  ///< what stands for a path of the machine
};

/// A machine whose directories are in `transport.folder`, with a program systemctl that notes its first argument in `calls`.
struct LocalShellFixture : ProcessFixture {
    LocalShellFixture() {
        std::string made = "/tmp/local_shell.XXXXXX";
        transport.folder = ::mkdtemp(made.data());
        transport.places["/usr/local/bin"] = transport.folder;
        transport.processes = runner.get();
        write("tools/systemctl", "#!/bin/sh\necho \"$1\" >>" + transport.folder + "/calls\ntest \"$1\" != stop\n");
        std::filesystem::permissions(transport.folder + "/tools/systemctl", std::filesystem::perms::owner_all);
    }
    ~LocalShellFixture() override { std::filesystem::remove_all(transport.folder); }
    void write(const std::string& name, const std::string& text) {
        const std::filesystem::path path = transport.folder + "/" + name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }
    std::string read(const std::string& name) {
        std::ifstream file(transport.folder + "/" + name);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    bool exists(const std::string& name) { return std::filesystem::exists(transport.folder + "/" + name); }
    template <class T>
    Result<T> result_of(Task<T> task) {
        std::optional<Result<T>> result;
        TaskContext context(loop);
        start_task(std::move(task), context, [&](Result<T> value) {
            result.emplace(std::move(value));
            loop.stop();
        });
        loop.run();
        return *std::move(result);
    }
    Result<void> done(Task<> task) { return result_of(std::move(task)); }

    LocalShell transport;
};

/// One that runs a service with data of its own.
struct ServiceHostFixture : LocalShellFixture {
    ServiceHostFixture() {
        transport.places["/var/lib/porthole"] = transport.folder + "/data";  // and so /var/lib/porthole-server and -etcd
        transport.places["/etc/systemd/system"] = transport.folder + "/units";
        std::filesystem::create_directories(transport.folder + "/units");
    }
};

}  // namespace porthole::provision
