<#
.SYNOPSIS
Makes containerd this machine's container runtime, or checks the one that is there: the feature Containers, programs, config.toml with the CNI
folders of this node and a sandbox image, the service. Run it with another archive to upgrade; drain the node first.
.EXAMPLE
.\install-containerd.ps1 -Archive .\containerd-1.7.24-windows-amd64.tar.gz
#>
param(
    [string] $Archive = '',             # a release of containerd; a path, or an address that begins with https://
    [string] $SandboxImage = '',        # "" for containerd's own
    [string] $Folder = 'C:\k',
    [string] $Containerd = "$env:ProgramFiles\containerd"
)
Import-Module "$PSScriptRoot\common.psm1" -Force
Assert-Administrator

$feature = Get-WindowsFeature -Name Containers -ErrorAction SilentlyContinue
if ($feature -and -not $feature.Installed) {
    Install-WindowsFeature -Name Containers | Out-Null
    Stop-WithMessage 'The feature Containers is installed now: restart Windows (Restart-Computer), then run this again.'
}

if ($Archive -like 'https://*') {
    # Old releases of Windows would offer the server nothing newer than TLS 1.0.
    [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12
    $file = Join-Path $env:TEMP (Split-Path -Leaf $Archive)
    Invoke-WebRequest -UseBasicParsing -Uri $Archive -OutFile $file
    $Archive = $file
}
$service = Get-Service -Name containerd -ErrorAction SilentlyContinue
if ($Archive) {
    if ($service -and $service.Status -ne 'Stopped') { Stop-Service -Name containerd -Force }
    New-Item -ItemType Directory -Force -Path $Containerd | Out-Null
    Invoke-Program "$env:SystemRoot\System32\tar.exe" @('-xf', $Archive, '--strip-components=1', '-C', $Containerd)
}
Assert-Program "$Containerd\containerd.exe"

if (-not (Test-Path "$Containerd\config.toml")) {
    $text = & "$Containerd\containerd.exe" config default | Out-String
    $text = $text -replace '(?m)^(\s*bin_dir\s*=).*$', "`$1 '$Folder\cni'" -replace '(?m)^(\s*conf_dir\s*=).*$', "`$1 '$Folder\cni\config'"
    if ($SandboxImage) { $text = $text -replace '(?m)^(\s*sandbox_image\s*=).*$', "`$1 '$SandboxImage'" }
    Set-Content -Encoding ascii -Path "$Containerd\config.toml" -Value $text
}
if (-not $service) { Invoke-Program "$Containerd\containerd.exe" @('--register-service') }
Start-Service -Name containerd
$pipe = { Test-Path '\\.\pipe\containerd-containerd' }
if (-not (Wait-Until $pipe 30)) { Stop-WithMessage 'containerd runs, but its pipe \\.\pipe\containerd-containerd does not come: see its log in the event viewer.' }
& "$Containerd\containerd.exe" --version
