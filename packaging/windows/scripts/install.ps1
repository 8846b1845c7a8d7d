<#
.SYNOPSIS
Puts the programs of this zip into one folder, under all of their names, and the folder into PATH.
.EXAMPLE
.\install.ps1 -Kubeconfig C:\Users\me\config
#>
param(
    [string] $Folder = 'C:\k',
    [string] $LogDir = "$Folder\logs",
    [string] $Kubeconfig = '',          # copied to $Folder\config, for nodes that join without a token
    [switch] $SetKubeconfig             # KUBECONFIG of this user points to $Folder\config
)
Import-Module "$PSScriptRoot\common.psm1" -Force
Assert-Administrator

Invoke-Program "$PSScriptRoot\..\porthole.exe" @('install', '--folder', $Folder, '--log-dir', $LogDir)
Copy-Item -Force "$PSScriptRoot\*.ps1", "$PSScriptRoot\*.psm1" $Folder
if ($Kubeconfig) { Copy-Item -Force $Kubeconfig "$Folder\config" }

$machinePath = [Environment]::GetEnvironmentVariable('Path', 'Machine')
if (($machinePath -split ';') -notcontains $Folder) {
    [Environment]::SetEnvironmentVariable('Path', "$machinePath;$Folder", 'Machine')
    Write-Host "$Folder is in PATH, for new consoles too"
}
if (($env:Path -split ';') -notcontains $Folder) { $env:Path += ";$Folder" }
if ($SetKubeconfig) {
    [Environment]::SetEnvironmentVariable('KUBECONFIG', "$Folder\config", 'User')
    $env:KUBECONFIG = "$Folder\config"
}
Write-Host "Next: $Folder\porthole.exe join SERVER:6443 --token TOKEN --discovery-token-ca-cert-hash sha256:HASH"
