import asyncio

import bfsql
from bfsql import MemoryBackend
from bfsql.models import EdgeRecord, EvidenceRecord, NodeRecord

drugs = MemoryBackend(
    [
        NodeRecord("RxNorm:3251", "Drug", {"name": "Desmopressin"}),
        NodeRecord("MeSH:D003919", "Disease", {"name": "Diabetes Insipidus"}),
        EdgeRecord("RxNorm:3251", "TREATS", "MeSH:D003919", {"confidence": 0.9}),
        *(
            EvidenceRecord(
                "RxNorm:3251", "TREATS", "MeSH:D003919", {"document_id": paper, "text_span": text}
            )
            for paper, text in {"PMC1": "It reduced polyuria.", "PMC2": "Thirst fell."}.items()
        ),
    ]
)
CLAIMS = """
Desmopressin -TREATS[confidence>=0.8]-> Diabetes Insipidus
RxNorm:3251 -TREATS-> MeSH:D003919 #2
Desmopressin -CAUSES-> Diabetes Insipidus
"""


async def main() -> None:
    async with bfsql.open_graph(drugs) as graph:
        for one in await graph.verify(CLAIMS):
            print(one.line, one.verdict, one.evidence_count, one.reason)
            for item in one.evidence:
                print("   ", item["document_id"], item["text_span"])


asyncio.run(main())
