// flex_windows_driver init | mount TARGET OPTIONS | unmount TARGET: a FlexVolume driver for tests of Windows nodes. A volume is the target
// itself, with a file `options` that has what the driver was told. What it does not have is the kubelet's part.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

int main(int count, char** words) {
    const std::string verb = count > 1 ? words[1] : "";
    if (verb == "init") return std::puts(R"({"status": "Success", "capabilities": {"attach": false}})") < 0;
    bool done = false;
    if (verb == "mount" && count == 4) {
        std::ofstream options(std::filesystem::path(words[2]) / "options");
        options << words[3];
        options.close();
        done = options.good();
    } else if (verb == "unmount" && count == 3) {
        done = std::filesystem::remove(std::filesystem::path(words[2]) / "options");
    } else {
        std::puts(R"({"status": "Not supported"})");
        return 1;
    }
    std::puts(done ? R"({"status": "Success"})" : R"({"status": "Failure", "message": "the file cannot be written or removed"})");
    return done ? 0 : 1;
}
