<#
.SYNOPSIS
Gathers what helps to find out why a node does not work, as one zip. Keys and tokens are left out.
#>
param(
    [string] $Folder = 'C:\k',
    [string] $LogDir = "$Folder\logs",
    [string] $Output = "$env:TEMP\porthole-logs-$(Get-Date -Format yyyyMMdd-HHmmss).zip"
)
Import-Module "$PSScriptRoot\common.psm1" -Force
Assert-Administrator
$work = Join-Path $env:TEMP ([IO.Path]::GetRandomFileName())
New-Item -ItemType Directory -Path $work | Out-Null

# Each piece stands alone: what is missing on a broken node is what one wants to know.
function Save([string] $Name, [scriptblock] $Command) {
    try { & $Command 2>&1 | Out-String -Width 400 | Set-Content -Encoding UTF8 "$work\$Name.txt" }
    catch { "failed: $_" | Set-Content -Encoding UTF8 "$work\$Name.txt" }
}
Save 'version' { & "$Folder\porthole.exe" --version; [Environment]::OSVersion; Get-ComputerInfo -Property WindowsProductName, OsBuildNumber, OsTotalVisibleMemorySize }
Save 'services' { foreach ($name in 'containerd', 'hns', 'kubelet', 'flanneld', 'kube-proxy', 'csi-proxy') { sc.exe queryex $name; sc.exe qc $name } }
Save 'network' { ipconfig /all; route print; Get-NetAdapter | Format-Table -AutoSize; netsh advfirewall show allprofiles state }
Save 'hns' { & "$Folder\porthole.exe" hns list }
Save 'processes' { Get-Process | Sort-Object -Descending WorkingSet64 | Format-Table Id, ProcessName, WorkingSet64, HandleCount -AutoSize }
Save 'events' { Get-WinEvent -MaxEvents 300 -FilterHashtable @{ LogName = 'System', 'Application'; Level = 1, 2, 3 } | Format-List TimeCreated, ProviderName, Id, Message }
# register-svc.ps1 puts logs beside the programs, where the kubeconfig and the keys are: nothing but logs is taken.
New-Item -ItemType Directory -Path "$work\logs" | Out-Null
Copy-Item -ErrorAction SilentlyContinue "$LogDir\*.log" "$work\logs"
foreach ($source in @("$Folder\cni\config", 'C:\run\flannel')) {
    if (Test-Path $source) { Copy-Item -Recurse -ErrorAction SilentlyContinue $source "$work\$(Split-Path -Leaf $source)" }
}
Compress-Archive -Force -Path "$work\*" -DestinationPath $Output
Remove-Item -Recurse -Force $work
Write-Host $Output
