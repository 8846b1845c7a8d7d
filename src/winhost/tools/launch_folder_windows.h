#pragma once
#include <windows.h>

#include <string>
#include <vector>

namespace porthole::winhost {

inline std::wstring wide(const std::string& text) {
    std::wstring result(static_cast<std::size_t>(MultiByteToWideChar(CP_UTF8, 0, text.data(), static_cast<int>(text.size()), nullptr, 0)),
                        0);
    MultiByteToWideChar(CP_UTF8, 0, text.data(), static_cast<int>(text.size()), result.data(), static_cast<int>(result.size()));
    return result;
}

/// The folder that init shares with the program it starts under Wine, a Unix path:
///   spec     pairs "key\0value\0" in UTF-8: command (the exact command line), directory, variable ("NAME=value"), drop (a name), services
///            ("end": to be stopped after the program has ended), processors ("all": Wine's processes are on one of them until the program
///            begins, processors.h)
///   report   a FIFO: "started PID\n", then "exit CODE\n"; or "error CODE\n" with CreateProcess's error
///   event    what to do when our own process gets SIGINT: pass on a control event (a number, CTRL_*_EVENT), "kill", or "size 90 30",
///            which makes our console that large
class LaunchFolder {
public:
    struct Spec {
        std::wstring command, directory;
        std::vector<std::wstring> variables, dropped;
        bool ends_services = false, gives_processors = false;

        /// "" if there is none of that name.
        std::wstring variable(const std::wstring& name) const {
            for (const std::wstring& one : variables)
                if (one.compare(0, name.size() + 1, name + L"=") == 0) return one.substr(name.size() + 1);
            return L"";
        }
    };

    explicit LaunchFolder(const std::wstring& path) : path_(L"\\\\?\\unix" + path) {
        for (wchar_t& letter : path_)
            if (letter == L'/') letter = L'\\';
    }
    /// Init waits until it is opened.
    bool open_report() {
        report_ = CreateFileW((path_ + L"\\report").c_str(), GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr, OPEN_EXISTING, 0,
                              nullptr);
        return report_ != INVALID_HANDLE_VALUE;
    }
    void report(const char* word, DWORD number) {
        const std::string line = std::string(word) + " " + std::to_string(number) + "\n";
        DWORD written = 0;
        WriteFile(report_, line.data(), static_cast<DWORD>(line.size()), &written, nullptr);
    }
    std::string event() const { return read(L"\\event"); }
    Spec spec() const {
        Spec spec;
        const std::string text = read(L"\\spec");
        std::vector<std::string> words;
        for (std::size_t start = 0, end; (end = text.find('\0', start)) != text.npos; start = end + 1)
            words.push_back(text.substr(start, end - start));
        for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
            std::wstring value = wide(words[i + 1]);
            if (words[i] == "command") spec.command = std::move(value);
            if (words[i] == "directory") spec.directory = std::move(value);
            if (words[i] == "variable") spec.variables.push_back(std::move(value));
            if (words[i] == "processors") spec.gives_processors = value == L"all";
            if (words[i] == "services") spec.ends_services = value == L"end";
            if (words[i] == "drop") spec.dropped.push_back(std::move(value));
        }
        return spec;
    }

private:
    std::string read(const wchar_t* name) const {
        std::string content;
        const HANDLE file =
            CreateFileW((path_ + name).c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr, OPEN_EXISTING, 0, nullptr);
        if (file == INVALID_HANDLE_VALUE) return content;
        char buffer[4096];
        for (DWORD count = 0; ReadFile(file, buffer, sizeof buffer, &count, nullptr) && count > 0;) content.append(buffer, count);
        CloseHandle(file);
        return content;
    }

    std::wstring path_;
    HANDLE report_ = INVALID_HANDLE_VALUE;
};

}  // namespace porthole::winhost
