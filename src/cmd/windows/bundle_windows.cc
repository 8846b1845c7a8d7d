#include <cstdio>
#include <filesystem>

#include "base/wide_windows.h"
#include "cmd/bundle/machine_part.h"
#include "cmd/program/flags.h"
#include "cmd/program/runtime_setup.h"
#include "cmd/windows/roles.h"
#include "node_join/windows_node/host_windows.h"
#include "node_join/windows_node/node_plan.h"

namespace porthole::cmd {
namespace {

constexpr const char* About =
    "Diagnostic data of a Windows node of a Porthole cluster: its host network service, network, services and logs. Read it\n"
    "before you share it. Text that looks like a key, token or password is removed; names, addresses and programs' arguments\n"
    "are not.\n"
    "errors.txt lists what could not be collected.\n";

Result<void> write(const std::string& file, const std::string& program, const std::string& logs) {
    RealWorld world;
    TRY(auto archive, bundle::Archive::create(file, Timestamp(world.loop.wall_now())));
    TRY_VOID(archive.add("README.txt", About));
    bundle::Writer writer(archive);
    TRY_VOID(world.run(bundle::add_machine(*world.processes, writer, bundle::machine_facts(program), "machine")));
    const auto files = make_file_system();
    TRY_VOID(bundle::add_logs(*files, writer, logs, "machine/logs"));
    TRY_VOID(writer.add_notes());
    return archive.close();
}

}  // namespace

int run_bundle(std::vector<std::string> arguments) {
    const node_join::WindowsNode node;
    std::string file = "porthole-bundle.tar.gz", logs = node.log_folder;
    CLI::App app("Collect the node's state in one archive for a bug report, without secrets.", "bundle");
    app.add_option("FILE", file, "new archive")->capture_default_str();
    app.add_option("--log-dir", logs, "directory of the node's logs")->capture_default_str();
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;

    const auto written = write(file, to_utf8(node_join::own_program().wstring()), logs);
    if (!written) {
        std::error_code ignored;
        if (written.error().reason != Reason::AlreadyExists) std::filesystem::remove(file, ignored);
        return fail(written.error().message);
    }
    std::printf("%s: read it before you share it\n", file.c_str());
    return 0;
}

}  // namespace porthole::cmd
