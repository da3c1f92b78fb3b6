"""Pushes of real clients: a Java consumer (4.3.0) and confluent-kafka (2.16.1), members of the group ``g``.

They were captured at a gateway in front of an embedded broker, and are compressed here with gzip.
"""

from __future__ import annotations

import base64

__all__ = ["PUSHED_BY_JAVA", "PUSHED_BY_LIBRDKAFKA"]

PUSHED_BY_JAVA = base64.b64decode(
    "H4sIAAAAAAACA9XWP2/TQBgG8AQW9C6FU4ciJKSKLoB8KEljAm3pSQUqJAb+SojSkNf2G+PG9kVnN8AEIwMfgKFiQ0UVElJZCCzlC7AyMMDGwI"
    "KYCmLAJMLBNBEpkoW5ybrpp7vnfXzwNA/nYQR22UouN687FtsJeRtOwEh3wyPPIPVj/zAcXMIWaqXyZFEvFeqaVTJJm6wUypqh62XtaIV0vVQs"
    "6HqhyK6yKyCksjk20bxBvIH1BnJT+sGyRyr6kMpyfAyl4k1UoRM60ueuDELuYki+eZtjyz40Cmxvrv544Wv749h4rrM278BqKuIL7BxUhhOb0v"
    "OcrdKNB+vVnlScFvAwFekZNg9HBktdjE6xKV2XBxRtWgFHW/YBRuvfAEPHI25QeJPI70K3nOCHleD1sVUUsJYK8DK7CFPD3bUiA130TfrDdb8n"
    "Ac9SwVbZNTi53VHCIHBsn6xY7eGtfhkQAtZTUS+yBZjbrlpRSzb6oHNvX1WTHdBOBW0xA2b+NhehDNE9Pg779tx98WTmS8T9zR1FZPeOsTyspG"
    "KfZ6dAG2zvzJljucQVRmfdS/GbxVqHOHd2/2bl0bvZzNVrHIIDa7VfQnBJQFZ/XT/Fgtq1ZGwzWGdxMXwexWSdPU8FazKE6eGwdXTcqA165t6I"
    "bXx72R2xJDv3abYzYllu4vhhU57A/6aJB6CjSGfkCRG3RAJ47774DoxDlebhCgAA"
)
PUSHED_BY_LIBRDKAFKA = base64.b64decode(
    "H4sIAAAAAAACA72VMW/TQBTHcSvRcigqPSQIQkgXIQRU9bV2iEkDbdORjYEdXexLYtX2hbNd0TIgBGIGBiRgYEB8B9g6wAATC3wBNhiAiYKQ4M"
    "6xE0dK0taJ8PTse376+f9/7xm8heAKmAHTDc7C1nXbgpNAaQADHHKpW6NcPjkPznJL1S1aLpbMsloy9IvqBaoV1ZpmlVSrVK5rhlHTTasMf86C"
    "4yDHrdMm8/zQpVzV4UEdawZehPcUoDPewKRFzCbF66S+TnCSJwOPmoHNPGxySqKAk4DChWtNimSEWB11s3xE/YDUHNtvUgu1KEc+FacWnjsFTs"
    "5OL81s/3r9NX/iwc6Zrd8iKByIL3hfAcX9YQQsIA6clxxRiLxQSjOEB1cKAuLcx6uXd9IQ2kQMcWQir8CHQ/XwmEUxpzdCURY74vM9cxOTjQZU"
    "JQfZoJw0hC7tBBQnINtDro/qjCOCogpz82CujxoM3t1+/2OrWsmBqShP2CyZnv4XphIo9mH6/PLZG7SYr1aOdZkO5/8mVybBXHKzDScC2w3drI"
    "Jpk7F1YxAsA1NfwbRc3E0DBXuigKVhrc64ZXskYBwT37cbnmjcFuGBHfUzXJaM3VbvniAz5Jx6gbOJkvfEYKCgafuoU73/GHYmAD5XwKW9sXFa"
    "Iw7xTNrTcmu9LRen9NEwEHlJXZSuu9uiGIVQerzW6/HYCLUO4QsFLGclbC+11e5Sy0Q4YM+9Su+5R0O7sE4Dsyn08oSPyV3aZyPtc3Q8gK99lh"
    "QaYK75buHxn0+3qyNASWuNtLWjQnV2C7yjAHUwVIs5jhhxh8r/os0idbSeKZCP5ajKJDmR8o14j+wyl4XvR6c+fLv1ZVXujPLeespkrmv3/gdW"
    "0jjt83FOZGY26dlK2rNxsXVm8R+Qknw5SAkAAA=="
)
